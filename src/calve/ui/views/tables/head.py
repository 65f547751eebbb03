"""What a table is: format, size, place, partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.lake import SourceTable
from calve.lake.amounts import held_at
from calve.lake.commits import MAIN
from calve.lake.metadata import Snapshot
from calve.server.dependencies import Json


def newest(table: SourceTable) -> Snapshot | None:
    """The newest snapshot of main; None for a table without any."""
    head = table.metadata.current_snapshot_id(MAIN)
    return None if head is None else table.metadata.snapshot(head)


def last_change(table: SourceTable) -> Json:
    """When a table last changed, and how many rows it holds."""
    snapshot = newest(table)
    if snapshot is None:
        return {"changed_at": None, "rows": 0}
    return {"changed_at": snapshot.timestamp_ms, "rows": held_at(snapshot).records}


def describe_table(table: SourceTable) -> Json:
    """The head of the table's page."""
    metadata, snapshot = table.metadata, newest(table)
    held = None if snapshot is None else held_at(snapshot)
    return {
        "format_version": metadata.format_version,
        "uuid": metadata.uuid,
        "location": metadata.location,
        "rows": 0 if held is None else held.records,
        "files": 0 if held is None else held.files,
        "bytes": 0 if held is None else held.bytes,
        "snapshot_id": None if snapshot is None else snapshot.id,
        "changed_at": None if snapshot is None else snapshot.timestamp_ms,
        "snapshots": len(metadata.raw.get("snapshots") or ()),
        "partitioned_by": _spec_in_words(table),
        "branches": sorted(name for name in metadata.refs() if name != MAIN),
    }


def _spec_in_words(table: SourceTable) -> str:
    metadata = table.metadata
    fields = metadata.default_spec
    schema = metadata.schema_of(None)
    shown = [_field_in_words(field, schema) for field in fields if field["transform"] != "void"]
    return ", ".join(shown) or "not partitioned"


_WORDS = {"identity": "{0}", "day": "day of {0}", "hour": "hour of {0}", "month": "month of {0}"}


def _field_in_words(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    names = (column["name"] for column in schema["fields"] if column["id"] == field["source-id"])
    source = next(names, field["name"])
    transform = str(field["transform"])
    if transform in _WORDS:
        return _WORDS[transform].format(source)
    kind, _, width = transform.partition("[")
    told = {"bucket": "{1} buckets of {0}", "truncate": "{0} cut to {1}", "year": "year of {0}"}
    return told.get(kind, "{2} of {0}").format(source, width.rstrip("]"), kind)
