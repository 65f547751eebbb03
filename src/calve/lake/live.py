"""The live rows of a range of a column, shown by an ICDC table of the files that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calve.lake.column_ranges import range_column
from calve.lake.file_ranges import FileRanges
from calve.lake.history import manifests_of
from calve.lake.icdc import StateBuilder
from calve.lake.icdc_table import IcdcTable, withdrawing
from calve.lake.manifest import Entry
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import Snapshot
from calve.lake.model import Changes, Mode, RangeColumn, Segment
from calve.lake.names import name_table
from calve.lake.overlap import ValueRange, manifest_range
from calve.lake.range_values import parse_range, range_condition
from calve.lake.reach import check_reachable, expiry_warnings
from calve.lake.stats import ChangeStats
from calve.lake.storage import load_manifests
from calve.lake.tables import SourceTable
from calve.lake.unopened import show_unopened
from calve.lake.values import to_json
from calve.settings import IcdcSettings


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """All rows of a state of a table with `lower <= column < upper`; a bound of None is no bound.

    `snapshot_id` None is the newest of the branch. Bounds are JSON-ready values, as
    `Changes.ranges` shows them. `salt` goes into the names of the tables, so that readers do not
    share them.
    """

    snapshot_id: int | None
    column: str
    lower: Any
    upper: Any
    branch: str = "main"
    range_columns: tuple[str, ...] = ()
    salt: str = ""


@dataclass(frozen=True, slots=True)
class LiveRange:
    """A request found in its table: the state, the column, and the bounds as values of it."""

    snapshot: Snapshot | None
    column: RangeColumn
    wanted: ValueRange


def find_live(table: SourceTable, request: LiveRequest) -> LiveRange:
    """Check a request against the table.

    Raises SNAPSHOT_NOT_FOUND, BRANCH_NOT_FOUND, RANGE_COLUMN_NOT_FOUND, _NESTED or _UNORDERED,
    RANGE_VALUE_INVALID, RANGE_EMPTY or RANGE_REVERSED.
    """
    snapshot, column = find_column_of(table, request.snapshot_id, request.column, request.branch)
    return LiveRange(snapshot, column, ValueRange(*parse_range(column, request.lower, request.upper)))


def find_column_of(
    table: SourceTable, snapshot_id: int | None, column: str, branch: str
) -> tuple[Snapshot | None, RangeColumn]:
    """A state, by default the newest of the branch, and a column of it. None is the empty table."""
    metadata = table.metadata
    chosen = metadata.current_snapshot_id(branch) if snapshot_id is None else snapshot_id
    snapshot = None if chosen is None else metadata.snapshot(chosen)
    return snapshot, range_column(metadata.schema_of(snapshot), column)


class _LiveWriter:
    """Writes the table of one request. All names follow from it, so a second try writes the same files."""

    def __init__(self, table: SourceTable, request: LiveRequest, settings: IcdcSettings) -> None:
        self._source = table
        self._request = request
        self._live = live = find_live(table, request)
        schema = table.metadata.schema_of(live.snapshot)
        columns = [range_column(schema, name) for name in dict.fromkeys(request.range_columns)]
        self._stats = ChangeStats.start(table.metadata, columns)
        self._ranges = FileRanges(live.column, table.metadata)
        self._cuts = False  # whether a file that is shown may hold rows outside of the range
        self._table = IcdcTable.start(table, name_table(table, self._key(), settings), settings)

    def _key(self) -> tuple[str, ...]:
        snapshot, column, wanted = self._live.snapshot, self._live.column, self._live.wanted
        bounds = (to_json(column.type, bound) for bound in (wanted.lower, wanted.upper))
        state = None if snapshot is None else snapshot.id
        # Column and bounds are any text: written as Python writes them, no two keys can look alike.
        return ("live", str(state), repr(column.name), *map(repr, bounds), self._request.salt)

    def write(self) -> Changes:
        """Write the table. Where that is refused, nothing of it stays."""
        snapshot = self._live.snapshot
        with withdrawing(self._table):
            builder = self._table.builder(snapshot, snapshot, self._stats)
            if snapshot is not None:
                self._show(builder, snapshot)
            self._table.add(builder)
            self._note_unshown(builder)
            current = check_reachable(self._source, [snapshot.id] if snapshot else [])
            return self._describe(self._table.publish(Mode.APPEND), expiry_warnings(current))

    def _show(self, builder: StateBuilder, snapshot: Snapshot) -> None:
        listed = manifests_of(self._source.io, snapshot)
        data, deletes = ([m for m in listed if m.is_data == wanted] for wanted in (True, False))
        for manifest in load_manifests(self._source.io, self._to_open(builder, data, bool(deletes))):
            builder.copy(manifest, self._include)
        builder.add_deletes(self._source.io, deletes)

    def _to_open(
        self, builder: StateBuilder, data: list[ManifestFile], has_deletes: bool
    ) -> list[ManifestFile]:
        """Show manifests that lie within the range as they are, and give those that must be opened."""
        wanted, metadata = self._live.wanted, self._source.metadata
        told = [(m, manifest_range(metadata, m, self._live.column)) for m in data]
        inside = [m for m, held in told if wanted.holds_all(held)]
        across = [m for m, held in told if wanted.may_meet(held) and not wanted.holds_all(held)]
        if has_deletes:
            # Which deletes apply is known by the files they apply to.
            return inside + across
        return show_unopened(inside, builder, metadata, self._stats) + across

    def _include(self, entry: Entry) -> bool:
        held = self._ranges.of(entry)
        if not self._live.wanted.may_meet(held):
            return False
        self._cuts = self._cuts or not self._live.wanted.holds_all(held)
        return True

    def _note_unshown(self, builder: StateBuilder) -> None:
        """Take into account that files hold rows that are deleted, or that the row filter leaves out."""
        if self._cuts or builder.totals.delete_files:
            self._stats.mark_inexact()
        own = self._stats.ranges.get(self._live.column.name)
        if own is not None and self._cuts:
            wanted = self._live.wanted
            last = wanted.upper - 1 if type(wanted.upper) is int else wanted.upper
            own.narrow(wanted.lower, last)

    def _describe(self, location: str, warnings: tuple[str, ...]) -> Changes:
        live, totals = self._live, self._table.totals
        schema = self._source.metadata.schema_of(live.snapshot)
        condition = range_condition(schema, live.column, live.wanted.lower, live.wanted.upper)
        return Changes(
            table=str(self._source.name),
            table_uuid=self._source.uuid,
            branch=self._request.branch,
            mode=Mode.APPEND,
            segments=(Segment(None, live.snapshot.id if live.snapshot else None),),
            has_changes=totals.files > 0,
            icdc_table=self._table.shown_name,
            icdc_metadata_location=location,
            removed_table=None,
            removed_metadata_location=None,
            row_filter=condition if self._cuts else None,
            files=totals.files,
            records=totals.records,
            bytes=totals.bytes,
            removed_files=0,
            removed_records=0,
            removed_bytes=0,
            operations={},
            skipped_operations={},
            ranges=self._stats.column_ranges(),
            partitions=self._stats.partition_values(),
            warnings=(*warnings, *self._stats.warnings()),
        )


def write_live(table: SourceTable, request: LiveRequest, settings: IcdcSettings) -> Changes:
    """Write a zero-copy ICDC table of all live files that may hold rows of a range.

    `row_filter` narrows it to the range where a file holds more, or may do so. The same names and
    the same content however often it runs; raises as `find_live` does.
    """
    return _LiveWriter(table, request, settings).write()
