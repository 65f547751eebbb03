"""How much the live rows of a range of a column are, from metadata alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from calve.lake.amounts import Amount
from calve.lake.file_ranges import FileRange, FileRanges
from calve.lake.history import manifests_of
from calve.lake.live import LiveRequest, find_column_of, find_live
from calve.lake.manifest import Entry
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import Snapshot
from calve.lake.model import RangeColumn
from calve.lake.overlap import RangeIndex, ValueRange, manifest_range
from calve.lake.range_values import parse_range
from calve.lake.storage import load_manifests
from calve.lake.tables import SourceTable
from calve.lake.unopened import added_bytes
from calve.lake.values import to_json


@dataclass(frozen=True, slots=True)
class LiveAmount:
    """How much there is to read for a range: all of the live files that overlap it."""

    snapshot_id: int | None
    column: str
    column_type: str
    files: int
    records: int
    bytes: int


def measure_live(table: SourceTable, request: LiveRequest) -> LiveAmount:
    """How much a range is to read. Raises as `find_live` does."""
    live = find_live(table, request)
    (found,) = _measure(table, live.snapshot, live.column, [live.wanted])
    return LiveAmount(
        live.snapshot.id if live.snapshot else None,
        live.column.name,
        live.column.type,
        found.files,
        found.records,
        found.bytes,
    )


def measure_ranges(
    table: SourceTable,
    snapshot_id: int | None,
    column: str,
    bounds: Sequence[tuple[Any, Any]],
    branch: str = "main",
) -> list[Amount]:
    """How much each of many ranges is to read, in one pass over the manifests, in the order given.

    A file that overlaps several ranges counts for each of them. Raises as `find_live` does.
    """
    snapshot, found = find_column_of(table, snapshot_id, column, branch)
    wanted = [ValueRange(*parse_range(found, *pair)) for pair in bounds]
    return _measure(table, snapshot, found, wanted)


def _measure(
    table: SourceTable, snapshot: Snapshot | None, column: RangeColumn, wanted: Sequence[ValueRange]
) -> list[Amount]:
    index = RangeIndex(wanted)
    places = _Places(index, FileRanges(column, table.metadata))
    counts = [[0, 0, 0] for _ in wanted]

    def count(places: Iterable[int], files: int, records: int, size: int) -> None:
        for at in places:
            found = counts[at]
            found[0] += files
            found[1] += records
            found[2] += size

    for manifest in load_manifests(table.io, _to_open(table, snapshot, column, index, count)):
        for entry in manifest.live():
            count(places.of(entry), 1, entry.record_count, entry.file_size)
    return [Amount(*found) for found in counts]


class _Places:
    """Which ranges a file counts for. Files of a partition that lies whole in its ranges are all alike."""

    def __init__(self, index: RangeIndex, ranges: FileRanges) -> None:
        self._index = index
        self._ranges = ranges
        #: None for a partition whose files have to be looked at.
        self._known: dict[tuple[int, tuple[Any, ...]], tuple[int, ...] | None] = {}

    def of(self, entry: Entry) -> Iterable[int]:
        """The places of the ranges that a file may have rows of."""
        key = (entry.spec_id, entry.partition)
        if key not in self._known:
            held = self._ranges.of_partition(entry)
            is_whole = held.unknown is None and held.lower is not None and self._index.cuts_nothing(held)
            self._known[key] = tuple(self._index.meeting(held)) if is_whole else None
        known = self._known[key]
        if known is None or not entry.record_count:
            return self._index.meeting(self._ranges.of(entry))
        return known


def _to_open(
    table: SourceTable,
    snapshot: Snapshot | None,
    column: RangeColumn,
    index: RangeIndex,
    count: Callable[[Iterable[int], int, int, int], None],
) -> list[ManifestFile]:
    """Count what a snapshot added where manifest list and summary tell it, and give the other manifests."""
    written: dict[int, list[ManifestFile]] = {}
    for manifest in _data_manifests(table, snapshot):
        written.setdefault(manifest.added_snapshot_id, []).append(manifest)
    to_open: list[ManifestFile] = []
    for snapshot_id, manifests in written.items():
        held = [manifest_range(table.metadata, manifest, column) for manifest in manifests]
        places = {tuple(index.meeting(found)) for found in held}
        size = None
        if len(places) == 1 and all(map(index.cuts_nothing, held)):
            size = added_bytes(table.metadata, snapshot_id, manifests)
        if size is None:
            to_open += [m for m, found in zip(manifests, held, strict=True) if index.meets(found)]
            continue
        files = sum(manifest.added_files or 0 for manifest in manifests)
        records = sum(manifest.added_rows or 0 for manifest in manifests)
        count(places.pop(), files, records, size)
    return to_open


def column_bounds(
    table: SourceTable, snapshot_id: int | None, column: str, branch: str = "main"
) -> tuple[Any, Any] | None:
    """The least and the greatest value of a column in a state, as JSON-ready values that may be too wide.

    None where a file does not tell, or where there is no value at all.
    """
    snapshot, found = find_column_of(table, snapshot_id, column, branch)
    lowers, uppers = [], []
    for held in _held(table, snapshot, found):
        if held.unknown is not None:
            return None
        if held.lower is not None:
            lowers.append(held.lower)
            uppers.append(held.upper)
    if not lowers:
        return None
    return to_json(found.type, min(lowers)), to_json(found.type, max(uppers))


def _held(table: SourceTable, snapshot: Snapshot | None, column: RangeColumn) -> Iterator[FileRange]:
    """Where the values lie: by manifest if the manifest list tells it, else by file."""
    ranges, to_open = FileRanges(column, table.metadata), []
    for listed in _data_manifests(table, snapshot):
        held = manifest_range(table.metadata, listed, column)
        if held.unknown is None:
            yield held
        else:
            to_open.append(listed)
    for manifest in load_manifests(table.io, to_open):
        yield from map(ranges.of, manifest.live())


def _data_manifests(table: SourceTable, snapshot: Snapshot | None) -> list[ManifestFile]:
    return [] if snapshot is None else [x for x in manifests_of(table.io, snapshot) if x.is_data]
