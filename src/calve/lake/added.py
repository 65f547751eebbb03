"""What a snapshot added, by the time that the rows tell of: what shows how late data arrives."""

from __future__ import annotations

from typing import NamedTuple

from calve.lake.file_ranges import FileRange, FileRanges
from calve.lake.history import manifests_of
from calve.lake.manifest import ADDED, Entry
from calve.lake.metadata import Snapshot
from calve.lake.model import RangeColumn
from calve.lake.storage import load_manifests
from calve.lake.tables import SourceTable
from calve.lake.time_columns import epoch_ms


class AddedRows(NamedTuple):
    """Rows of files whose values of the column lie in `[from_ms, to_ms]`; both None where it is not known."""

    from_ms: int | None
    to_ms: int | None
    records: int
    files: int


def added_by_time(table: SourceTable, snapshot: Snapshot, column: RangeColumn) -> tuple[AddedRows, ...]:
    """The rows that a snapshot added, by where a column of time lies in their files, the oldest first.

    That is the partition of a file where one is made from the column, else the file's own statistics.
    """
    written = [
        manifest
        for manifest in manifests_of(table.io, snapshot)
        if manifest.is_data and manifest.added_snapshot_id == snapshot.id and manifest.added_files != 0
    ]
    ranges = FileRanges(column, table.metadata)
    found: dict[tuple[int | None, int | None], list[int]] = {}
    for manifest in load_manifests(table.io, written):
        for entry in manifest.entries():
            if entry.status == ADDED and entry.snapshot_id == snapshot.id:
                amount = found.setdefault(_place(ranges, entry, column), [0, 0])
                amount[0] += entry.record_count
                amount[1] += 1
    listed = [AddedRows(*place, *amount) for place, amount in found.items()]
    return tuple(sorted(listed, key=lambda x: (x.from_ms is None, x.from_ms or 0, x.to_ms or 0)))


def _place(ranges: FileRanges, entry: Entry, column: RangeColumn) -> tuple[int | None, int | None]:
    held = ranges.of_partition(entry)
    if held.lower is None:
        held = ranges.of(entry)
    return _bounds(held, column)


def _bounds(held: FileRange, column: RangeColumn) -> tuple[int | None, int | None]:
    if held.lower is None or held.upper is None:
        return None, None
    lower, upper = epoch_ms(column, held.lower), epoch_ms(column, held.upper)
    return (None, None) if lower is None or upper is None else (lower, upper)
