"""Columns that tell a time, and the one that a table is partitioned by."""

from __future__ import annotations

from datetime import UTC, datetime

from calve.lake.metadata import TableMetadata, find_field
from calve.lake.model import RangeColumn

_DAY_MS = 86_400_000
_TIME_TRANSFORMS = ("hour", "day", "month", "year", "identity")
#: What the name of a whole number ends with that is a day written as 20240131.
DAY_NUMBERS = ("dateint", "date_int", "yyyymmdd")


def is_time(column: RangeColumn) -> bool:
    """Whether the values of a column are days or moments."""
    return column.type == "date" or is_timestamp(column) or is_day_number(column)


def is_timestamp(column: RangeColumn) -> bool:
    """Whether the values of a column are moments, with or without a zone."""
    return column.type.startswith("timestamp")


def is_day_number(column: RangeColumn) -> bool:
    """Whether the values of a column are days written as 20240131."""
    return column.type in ("int", "long") and column.name.lower().endswith(DAY_NUMBERS)


def default_range_column(metadata: TableMetadata, branch: str = "main") -> RangeColumn | None:
    """The column of time behind the partitions that new files go to; None where there is none."""
    head = metadata.current_snapshot_id(branch)
    schema = metadata.schema_of(None if head is None else metadata.snapshot(head))
    for field in metadata.default_spec:
        source = find_field(schema, field["source-id"])
        if (
            source is None
            or field["transform"] not in _TIME_TRANSFORMS
            or not isinstance(source["type"], str)
        ):
            continue
        column = RangeColumn(source["name"], source["id"], source["type"], source.get("initial-default"))
        if is_time(column):
            return column
    return None


def first_time_column(metadata: TableMetadata) -> RangeColumn | None:
    """The first column of the current schema that tells a time; None where there is none."""
    for field in metadata.schema_of(None)["fields"]:
        if isinstance(field["type"], str):
            column = RangeColumn(field["name"], field["id"], field["type"], field.get("initial-default"))
            if is_time(column):
                return column
    return None


def epoch_ms(column: RangeColumn, value: int) -> int | None:
    """A value of a column of time as milliseconds since 1970; None for a day number that is no day."""
    if column.type == "date":
        return value * _DAY_MS
    if is_timestamp(column):
        return value // (1_000_000 if column.type.endswith("_ns") else 1_000)
    try:
        return int(datetime.strptime(str(value), "%Y%m%d").replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        return None
