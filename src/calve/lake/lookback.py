"""What a job that re-reads a window of time would read now, from metadata alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from calve.errors import CalveError
from calve.lake.amounts import Amount
from calve.lake.column_ranges import range_column
from calve.lake.file_ranges import FileRanges
from calve.lake.history import manifests_of
from calve.lake.metadata import TableMetadata
from calve.lake.model import RangeColumn
from calve.lake.overlap import ValueRange, manifest_range
from calve.lake.storage import load_manifests
from calve.lake.tables import SourceTable
from calve.lake.time_columns import DAY_NUMBERS, default_range_column, is_day_number, is_timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class LookbackAsk:
    """A window that ends now, over a column of time. Without a column: the first range column, else
    the column behind a partition field of time."""

    window: timedelta
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Lookback:
    """What the window would read; `unknown` says why that cannot be told, and then `amount` is None."""

    window: str
    column: str | None
    amount: Amount | None
    unknown: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The measure as the CLI and the API show it."""
        nothing = {"files": None, "records": None, "bytes": None}
        told = nothing if self.amount is None else self.amount.to_json()
        return {"window": self.window, "column": self.column, **told, "unknown": self.unknown}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Lookback:
        """The inverse of `to_json`."""
        amount = None if raw["files"] is None else Amount.from_json(raw)
        return cls(raw["window"], raw["column"], amount, raw["unknown"])


class _UntoldError(Exception):
    """The measure cannot be told, for this reason."""


def measure_lookback(
    table: SourceTable, branch: str, ask: LookbackAsk, range_columns: tuple[str, ...], now_ms: int
) -> Lookback:
    """The live files of a branch that may hold rows of the window. Opens manifest lists and manifests only.

    Where it cannot be told it says so; it never guesses, and it never fails the capture it is for.
    """
    found = Lookback(window_text(ask.window), ask.column, None)
    try:
        column = _column(table.metadata, branch, ask, range_columns)
        found = replace(found, column=column.name)
        since = _since(column, _EPOCH + timedelta(milliseconds=now_ms) - ask.window)
        return replace(found, amount=_measure(table, branch, column, since))
    except _UntoldError as reason:
        return replace(found, unknown=str(reason))
    except CalveError as error:
        return replace(found, unknown=error.message)


def window_text(window: timedelta) -> str:
    """A window as people write it: 14d, 36h, 90s."""
    seconds = int(window.total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _column(
    metadata: TableMetadata, branch: str, ask: LookbackAsk, range_columns: tuple[str, ...]
) -> RangeColumn:
    name = ask.column or next(iter(range_columns), None)
    if name is None:
        found = default_range_column(metadata, branch)
        if found is None:
            raise _UntoldError("no column was given, and the table is not partitioned by a column of time")
        return found
    head = metadata.current_snapshot_id(branch)
    return range_column(metadata.schema_of(None if head is None else metadata.snapshot(head)), name)


def _since(column: RangeColumn, moment: datetime) -> int:
    """The start of the window as a value of the column."""
    if column.type == "date":
        return (moment - _EPOCH).days
    if is_timestamp(column):
        return ((moment - _EPOCH) // _MICRO) * (1000 if column.type.endswith("_ns") else 1)
    if is_day_number(column):
        return int(moment.strftime("%Y%m%d"))
    raise _UntoldError(
        f"column {column.name!r} of type {column.type} does not tell a time; expected a date, a timestamp, "
        f"or a whole number whose name ends with {', '.join(DAY_NUMBERS)}"
    )


def _measure(table: SourceTable, branch: str, column: RangeColumn, since: int) -> Amount:
    metadata, window = table.metadata, ValueRange(since, None)
    head = metadata.current_snapshot_id(branch)
    if head is None:
        return Amount()
    listed = [x for x in manifests_of(table.io, metadata.snapshot(head)) if x.is_data]
    reaching = [x for x in listed if window.may_meet(manifest_range(metadata, x, column))]
    ranges = FileRanges(column, metadata)
    found = Amount()
    for manifest in load_manifests(table.io, reaching):
        for entry in manifest.live():
            held = ranges.of(entry)
            if held.unknown is not None:
                raise _UntoldError(f"the range of {column.name!r} is unknown: {held.unknown}")
            # A file without any value of the column has no row in the window.
            if window.may_meet(held):
                found += Amount(1, entry.record_count, entry.file_size)
    return found
