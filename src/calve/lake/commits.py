"""Small commits to a table's own metadata, its references and properties, without a JVM.

A commit says what must still hold and what becomes of it; somebody else's commit in between makes
it look again. SQL catalogs get a metadata file that differs from the one before in nothing else,
in whatever format version; other catalogs are told the change in their own protocol.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    UnauthorizedError,
)
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from calve.errors import ConflictError, UsageError
from calve.lake.metadata import TableMetadata
from calve.lake.retry import call
from calve.lake.storage import write_bytes
from calve.lake.tables import SourceTable, is_sql

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table.update import TableRequirement, TableUpdate

ATTEMPTS = 12
_LONGEST_WAIT_SECONDS = 1.0
_VERSION = re.compile(r"^v?(\d+)[-.]")
MAIN = "main"


@dataclass(frozen=True, slots=True)
class RefChange:
    """A branch that goes from one snapshot to another; None is a branch that is not there."""

    name: str
    from_snapshot: int | None
    to_snapshot: int | None


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """A table property that gets a value."""

    key: str
    value: str


Change = RefChange | PropertyChange
Decide = Callable[[TableMetadata], Change | None]


class _CollidedError(Exception):
    """The commit did not land, or nobody knows whether it did: look again."""


def commit(table: SourceTable, decide: Decide) -> None:
    """Bring a table to a state: `decide` sees it as it is now, and gives what is missing or None.

    It is asked again after somebody else's commit, and after one whose outcome is unknown. Raises
    TABLE_REPLACED, TABLE_NOT_WRITABLE, CATALOG_UNSUPPORTED, COMMITS_COLLIDE and what `decide` does.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(_CollidedError),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.02, max=_LONGEST_WAIT_SECONDS),
    )
    try:
        retrying(_attempt, table, decide)
    except RetryError as gave_up:
        raise ConflictError(
            "COMMITS_COLLIDE",
            f"others committed to {table.name} at each of {ATTEMPTS} attempts to change it",
            "try again when the table is less busy",
        ) from gave_up.last_attempt.exception()


def _attempt(table: SourceTable, decide: Decide) -> None:
    current = table.refresh()
    if current.uuid != table.uuid:
        raise ConflictError(
            "TABLE_REPLACED",
            f"{table.name} is another table than before: its uuid is {current.uuid}, not {table.uuid}",
            "start over with the table that is there now",
        )
    change = decide(current.metadata)
    if change is None:
        return
    catalog = table.lake.catalog(table.name.catalog)
    enter = partial(_commit_sql, catalog, current, change) if is_sql(catalog) else None
    try:
        call(enter or partial(_commit_told, catalog, current, change), f"catalog {table.name.catalog}")
    except (CommitFailedException, CommitStateUnknownException) as collision:
        raise _CollidedError from collision
    except (ForbiddenError, UnauthorizedError) as error:
        raise UsageError(
            "TABLE_NOT_WRITABLE",
            f"{table.name} may not be written: {error}",
            "ask for write access to the table",
        ) from error


# Catalogs that are told the change


def _commit_told(catalog: Catalog, table: SourceTable, change: Change) -> None:
    try:
        loaded = catalog.load_table(table.name.identifier)
        catalog.commit_table(loaded, *_told(table.metadata, change))
    except NotImplementedError as error:
        version = table.metadata.format_version
        raise UsageError(
            "CATALOG_UNSUPPORTED",
            f"catalog {table.name.catalog} cannot be told to change a table of format version {version}",
            "use a REST or SQL catalog, or a table of format version 2",
        ) from error


def _told(
    metadata: TableMetadata, change: Change
) -> tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]:
    from pyiceberg.table.update import (
        AssertRefSnapshotId,
        AssertTableUUID,
        RemoveSnapshotRefUpdate,
        SetPropertiesUpdate,
        SetSnapshotRefUpdate,
    )

    same_table = AssertTableUUID(uuid=uuid.UUID(metadata.raw["table-uuid"]))
    if isinstance(change, PropertyChange):
        return (same_table,), (SetPropertiesUpdate(updates={change.key: change.value}),)
    still_there = AssertRefSnapshotId.model_validate(
        {"ref": change.name, "snapshot-id": change.from_snapshot}
    )
    if change.to_snapshot is None:
        return (same_table, still_there), (RemoveSnapshotRefUpdate.model_validate({"ref-name": change.name}),)
    ref = {"ref-name": change.name, **_ref(metadata, change)}
    return (same_table, still_there), (SetSnapshotRefUpdate.model_validate(ref),)


def _ref(metadata: TableMetadata, change: RefChange) -> dict[str, Any]:
    """The reference as it becomes: what it says of keeping snapshots stays."""
    kept = metadata.refs().get(change.name, {"type": "branch"})
    return {**kept, "snapshot-id": change.to_snapshot}


# SQL catalogs


def _commit_sql(catalog: SqlCatalog, table: SourceTable, change: Change) -> None:
    old = table.metadata
    location = _next_location(old)
    write_bytes(table.io, location, json.dumps(changed(old, change, time.time_ns() // 1_000_000)).encode())
    if not _swap(catalog, table, location):
        table.io.delete(location)
        raise CommitFailedException(f"{old.metadata_location} is not the newest any more")


def _next_location(metadata: TableMetadata) -> str:
    given = metadata.properties.get("write.metadata.path", f"{metadata.location.rstrip('/')}/metadata")
    found = _VERSION.match(metadata.metadata_location.rsplit("/", 1)[-1])
    version = int(found[1]) + 1 if found else 1
    return f"{given.rstrip('/')}/{version:05d}-{uuid.uuid4()}.metadata.json"


def _swap(catalog: SqlCatalog, table: SourceTable, location: str) -> bool:
    """Put one location in place of another, if that one is still there."""
    from sqlalchemy import text

    query = text(
        "UPDATE iceberg_tables SET metadata_location = :new, previous_metadata_location = :old"
        " WHERE catalog_name = :catalog AND table_namespace = :namespace AND table_name = :table"
        " AND metadata_location = :old"
    )
    values = {
        "new": location,
        "old": table.metadata.metadata_location,
        "catalog": catalog.name,
        "namespace": Catalog.namespace_to_string(table.name.namespace),
        "table": table.name.table,
    }
    with catalog.engine.begin() as connection:
        return connection.execute(query, values).rowcount == 1


def changed(metadata: TableMetadata, change: Change, now_ms: int) -> dict[str, Any]:
    """The content of the metadata file after a change. All that the change is not about stays as it is."""
    raw = dict(metadata.raw)
    before = {"timestamp-ms": raw["last-updated-ms"], "metadata-file": metadata.metadata_location}
    now = max(now_ms, raw["last-updated-ms"])
    # What falls out of the log is left to the next writer, which may have to remove the file.
    raw |= {"last-updated-ms": now, "metadata-log": [*raw.get("metadata-log", ()), before]}
    if isinstance(change, PropertyChange):
        return raw | {"properties": {**metadata.properties, change.key: change.value}}
    refs = {name: ref for name, ref in _all_refs(metadata).items() if name != change.name}
    if change.to_snapshot is not None:
        refs[change.name] = _ref(metadata, change)
        if change.name == MAIN:
            logged = {"timestamp-ms": now, "snapshot-id": change.to_snapshot}
            raw["current-snapshot-id"] = change.to_snapshot
            raw["snapshot-log"] = [*raw.get("snapshot-log", ()), logged]
    return raw | {"refs": refs}


def _all_refs(metadata: TableMetadata) -> dict[str, Any]:
    """The references, main among them also where an old writer noted nothing but the current snapshot."""
    current = metadata.current_snapshot_id(MAIN)
    main = {} if current is None else {MAIN: {"snapshot-id": current, "type": "branch"}}
    return {**main, **metadata.refs()}
