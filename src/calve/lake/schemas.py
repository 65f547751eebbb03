"""The schema that two states of a table are shown with, so that their rows can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from calve.lake.metadata import Snapshot, TableMetadata

_PROMOTIONS = {
    ("int", "long"),
    ("float", "double"),
    ("date", "timestamp"),
    ("date", "timestamp_ns"),
}


def shown_as(
    metadata: TableMetadata, start: Snapshot | None, end: Snapshot | None
) -> tuple[Snapshot | None, Snapshot | None]:
    """The states whose schemas the older and the newer state are read with: the newer one for both.

    After a rollback the older state may have a wider type, then its schema reads both. A replaced
    table can make the two incompatible: then each state keeps its own.
    """
    if start is None or end is None or start.schema_id == end.schema_id:
        return end, end
    if _reads(metadata, end, start):
        return end, end
    return (start, start) if _reads(metadata, start, end) else (start, end)


def _reads(metadata: TableMetadata, reader: Snapshot, state: Snapshot) -> bool:
    """Whether the files of a state can be read with the schema of another.

    Files keep columns that were dropped since, in the widest type that these ever had.
    """
    own = {field["id"]: field for field in _fields(metadata.schema_of(state))}
    written = _types_until(metadata, state.schema_id)
    return all(
        _fits_nulls(field, own.get(field["id"]))
        and all(_promotes(kind, field["type"]) for kind in written.get(field["id"], ()))
        for field in _fields(metadata.schema_of(reader))
    )


def _types_until(metadata: TableMetadata, schema_id: int | None) -> dict[int, list[Any]]:
    """The types that each field has had, up to a schema."""
    types: dict[int, list[Any]] = {}
    for listed_id, schema in metadata.schemas.items():
        if schema_id is None or listed_id <= schema_id:
            for field in _fields(schema):
                types.setdefault(field["id"], []).append(field["type"])
    return types


def _fits_nulls(field: Mapping[str, Any], own: Mapping[str, Any] | None) -> bool:
    """Whether a field may be null, or is never null in the state's own schema."""
    if not field["required"]:
        return True
    return field.get("initial-default") is not None if own is None else bool(own["required"])


def _promotes(narrow: Any, wide: Any) -> bool:
    if isinstance(narrow, dict) or isinstance(wide, dict):
        return isinstance(narrow, dict) and isinstance(wide, dict) and narrow["type"] == wide["type"]
    if narrow.startswith("decimal(") and wide.startswith("decimal("):
        (old_precision, old_scale), (precision, scale) = _decimal(narrow), _decimal(wide)
        return precision >= old_precision and scale == old_scale
    return narrow in (wide, "unknown") or (narrow, wide) in _PROMOTIONS


def _decimal(kind: str) -> tuple[int, int]:
    precision, scale = kind[len("decimal(") : -1].split(",")
    return int(precision), int(scale)


def _fields(kind: Any) -> Iterator[Mapping[str, Any]]:
    """All fields of a schema or type, at any depth; elements, keys and values count as fields."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        yield field
        yield from _fields(field["type"])
    for part in ("element", "key", "value"):
        if part in kind:
            required = kind.get(f"{part}-required", True)
            yield {"id": kind[f"{part}-id"], "type": kind[part], "required": required}
            yield from _fields(kind[part])
