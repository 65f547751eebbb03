"""Names and places of ICDC tables: the same capture gets the same ones, on every try."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from calve.lake.catalogs import TableName
from calve.lake.plan import ChangeRequest
from calve.lake.tables import SourceTable
from calve.settings import IcdcSettings

_ODD = re.compile(r"[^a-z0-9_]+")
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class IcdcName:
    """What an ICDC table is called, where it is, and the id of its snapshot."""

    table: TableName
    location: str
    snapshot_id: int


def name_tables(
    source: SourceTable, request: ChangeRequest, settings: IcdcSettings
) -> tuple[IcdcName, IcdcName]:
    """The names of the table of what came and of the table of what went."""
    spans = ";".join(f"{s.from_snapshot_exclusive}-{s.to_snapshot_inclusive}" for s in request.segments)
    key = (request.branch, request.mode.value, spans, request.salt)
    return name_table(source, key, settings), name_table(source, key, settings, "_removed")


def name_table(source: SourceTable, key: Sequence[str], settings: IcdcSettings, ending: str = "") -> IcdcName:
    """The name of a table of one source that is told from others by the parts of a key."""
    digest = sha256("|".join([source.uuid, *key]).encode()).hexdigest()
    stem = _ODD.sub("_", source.name.table.lower()).strip("_")[:_LONGEST] or "table"
    # 63 bits, and never 0: snapshot ids are positive.
    snapshot_id = (int(digest[16:32], 16) >> 1) | 1
    table = f"{stem}_{digest[:16]}{ending}"
    name = TableName(source.name.catalog, (settings.namespace,), table)
    return IcdcName(name, f"{icdc_base(source, settings)}/{settings.namespace}/{table}", snapshot_id)


def icdc_base(source: SourceTable, settings: IcdcSettings) -> str:
    """The folder of all ICDC tables: as set, else in the warehouse, else beside the source.

    Never below the source's own location: orphan clean-up there would remove it.
    """
    if settings.location:
        return settings.location.rstrip("/")
    warehouse = source.lake.catalog(source.name.catalog).properties.get("warehouse", "")
    if "/" in warehouse:
        return f"{warehouse.rstrip('/')}/_icdc"
    return f"{source.metadata.location.rstrip('/').rsplit('/', 1)[0]}/_icdc"
