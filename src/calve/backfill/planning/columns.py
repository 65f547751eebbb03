"""Which column a range is of, and the range as values of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from calve.backfill.chunking import is_time, moment_of
from calve.errors import RefusedError, UsageError
from calve.lake import SourceTable
from calve.lake.column_ranges import range_column
from calve.lake.model import RangeColumn
from calve.lake.range_values import parse_range
from calve.lake.time_columns import default_range_column, is_day_number
from calve.lake.values import to_json

#: What params are told, where there is no column: days, as a column of dates has them.
CALENDAR = RangeColumn("day", 0, "date", None)
CLOCK = RangeColumn("hour", 0, "timestamp", None)


@dataclass(frozen=True, slots=True)
class WantedRange:
    """A column and a half-open range of it."""

    column: RangeColumn
    lower: Any
    upper: Any

    @property
    def kind(self) -> str:
        """The type of the column, for the calendar."""
        return "day_number" if is_day_number(self.column) else self.column.type


def column_of(table: SourceTable, name: str | None) -> RangeColumn | None:
    """The column that a range of a table is of: that name, else the one behind its time partitions."""
    if name is None:
        return default_range_column(table.metadata)
    head = table.metadata.current_snapshot_id("main")
    schema = table.metadata.schema_of(None if head is None else table.metadata.snapshot(head))
    return range_column(schema, name)


def require_column(table: SourceTable, name: str | None) -> RangeColumn:
    """The same, of a table that must have one. Raises COLUMN_UNKNOWN."""
    found = column_of(table, name)
    if found is None:
        raise UsageError(
            "COLUMN_UNKNOWN",
            f"{table.name} is not partitioned by time, and no column is given for the range",
            "give --column",
        )
    return found


def want(column: RangeColumn, lower: str, upper: str) -> WantedRange:
    """The range as values of the column. Raises RANGE_VALUE_INVALID, _EMPTY, _REVERSED and _IN_FUTURE."""
    low, high = parse_range(column, lower, upper)
    wanted = WantedRange(column, to_json(column.type, low), to_json(column.type, high))
    if is_time(wanted.kind) and moment_of(wanted.lower, wanted.kind) > datetime.now(UTC):
        raise RefusedError(
            "RANGE_IN_FUTURE",
            f"the range begins at {wanted.lower}, which is in the future",
            "give a range of history",
        )
    return wanted
