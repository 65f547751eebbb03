"""What a job that re-reads a window of time would read now, from metadata alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from calve.errors import CalveError
from calve.lake.amounts import Amount
from calve.lake.column_ranges import RangeBuilder, RangeColumn, range_column
from calve.lake.history import manifests_of
from calve.lake.manifest import Entry
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import TableMetadata, find_field
from calve.lake.pruning import result_type
from calve.lake.storage import load_manifests
from calve.lake.tables import SourceTable
from calve.lake.values import decode_bound, transform_interval

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME_TRANSFORMS = ("hour", "day", "month", "year", "identity")
#: What the name of a whole number ends with that is a day written as 20240131.
_DAY_NUMBERS = ("dateint", "date_int", "yyyymmdd")
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
    head = metadata.current_snapshot_id(branch)
    schema = metadata.schema_of(None if head is None else metadata.snapshot(head))
    name = ask.column or next(iter(range_columns), None)
    if name is not None:
        return range_column(schema, name)
    for field in metadata.specs[metadata.raw.get("default-spec-id", max(metadata.specs))]:
        source = find_field(schema, field["source-id"])
        if source is None or field["transform"] not in _TIME_TRANSFORMS:
            continue
        column = RangeColumn(source["name"], source["id"], source["type"], source.get("initial-default"))
        if _is_time(column):
            return column
    raise _UntoldError("no column was given, and the table is not partitioned by a column of time")


def _is_time(column: RangeColumn) -> bool:
    return column.type == "date" or str(column.type).startswith("timestamp") or _is_day_number(column)


def _is_day_number(column: RangeColumn) -> bool:
    return column.type in ("int", "long") and column.name.lower().endswith(_DAY_NUMBERS)


def _since(column: RangeColumn, moment: datetime) -> int:
    """The start of the window as a value of the column."""
    if column.type == "date":
        return (moment - _EPOCH).days
    if str(column.type).startswith("timestamp"):
        return ((moment - _EPOCH) // _MICRO) * (1000 if column.type.endswith("_ns") else 1)
    if _is_day_number(column):
        return int(moment.strftime("%Y%m%d"))
    raise _UntoldError(
        f"column {column.name!r} of type {column.type} does not tell a time; expected a date, a timestamp, "
        f"or a whole number whose name ends with {', '.join(_DAY_NUMBERS)}"
    )


def _measure(table: SourceTable, branch: str, column: RangeColumn, since: int) -> Amount:
    metadata = table.metadata
    head = metadata.current_snapshot_id(branch)
    if head is None:
        return Amount()
    listed = [x for x in manifests_of(table.io, metadata.snapshot(head)) if x.is_data]
    reaching = [manifest for manifest in listed if _may_reach(metadata, manifest, column, since)]
    found = Amount()
    for manifest in load_manifests(table.io, reaching):
        for entry in manifest.live():
            if _reaches(metadata, entry, column, since):
                found += Amount(1, entry.record_count, entry.file_size)
    return found


def _may_reach(metadata: TableMetadata, manifest: ManifestFile, column: RangeColumn, since: int) -> bool:
    """False only where no file of a manifest can hold a row of the window."""
    return all(upper is None or upper >= since for upper in _newest(metadata, manifest, column))


def _newest(metadata: TableMetadata, manifest: ManifestFile, column: RangeColumn) -> Iterator[Any]:
    """The newest value of the column that each partition field on it allows; None where it tells nothing."""
    fields = metadata.specs.get(manifest.spec_id, ())
    for field, summary in zip(fields, manifest.partitions or (), strict=False):
        if field["source-id"] == column.id and field["transform"] in _TIME_TRANSFORMS and summary.upper:
            kind = result_type(metadata, field)
            value = None if kind is None else decode_bound(kind, summary.upper)
            interval = None if value is None else transform_interval(field["transform"], column.type, value)
            yield None if interval is None else interval[1]


def _reaches(metadata: TableMetadata, entry: Entry, column: RangeColumn, since: int) -> bool:
    builder = RangeBuilder(column, metadata)
    builder.add(entry)
    if builder.unknown is not None:
        raise _UntoldError(builder.unknown)
    # A file without any value of the column has no row in the window.
    return builder.upper is not None and bool(builder.upper >= since)
