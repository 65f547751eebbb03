"""Late data of a table: what each of its newest snapshots added, by the time that the rows tell of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from calve.errors import CalveError
from calve.lake import Operation, SourceTable, default_range_column
from calve.lake.added import AddedRows, added_by_time
from calve.lake.amounts import count
from calve.lake.lag import summary_operation
from calve.lake.locating import guarded
from calve.lake.metadata import Snapshot, TableMetadata
from calve.lake.model import RangeColumn
from calve.lake.storage import map_files
from calve.lake.time_columns import first_time_column
from calve.server.dependencies import Json
from calve.ui.drawing.heat_axes import Arrived
from calve.ui.drawing.heat_map import Axis, Cell, choose_axis, draw_heat
from calve.ui.views.tables.opening import Kept

SNAPSHOTS = 200
#: So many files at most are looked at for one picture.
FILES = 40_000
#: So many cells with late rows are listed as well.
LATE_LISTED = 50
_HOUR, _DAY = 3_600_000, 86_400_000
_UNITS = {"hour": _HOUR, "month": 31 * _DAY, "year": 366 * _DAY}
_UNIT_WORDS = {_HOUR: "hour", _DAY: "day", 31 * _DAY: "month", 366 * _DAY: "year"}
_kept: Kept[tuple[AddedRows, ...]] = Kept(20_000)


@dataclass(frozen=True, slots=True)
class _TimeColumn:
    """A column of time; `unit` is what its partitions tell apart, and a day without any."""

    column: RangeColumn
    unit: int
    is_partitioned: bool

    @property
    def span(self) -> int:
        """How long goes on what a value tells of: a date is its whole day."""
        return _DAY - 1 if self.column.type == "date" else 0


def show_arrivals(table: SourceTable, line: Sequence[Snapshot], is_cut: bool, axis: Axis | None) -> Json:
    """The heat map of the snapshots of a line, or why there is none.

    Arrival is by time or by snapshot, as `axis` says; without it, by what tells more.
    """
    time = _time_column(table.metadata)
    if time is None:
        return _without("The table has no column of a time: neither a date nor a timestamp.")
    chosen = _newest_within(line)
    found = guarded(partial(_read, table, chosen, time.column), str(table.name))
    if isinstance(found, CalveError):
        return _without(found.message)
    arrived = [
        Arrived(snapshot.timestamp_ms, rows.from_ms, rows.to_ms + time.span, rows.records, snapshot.id)
        for snapshot, added in zip(chosen, found, strict=True)
        for rows in added
        if rows.from_ms is not None and rows.to_ms is not None
    ]
    chosen_axis = axis or choose_axis(arrived, time.unit)
    picture = draw_heat(arrived, time.unit, chosen_axis)
    if picture is None:
        return _without(f"No snapshot tells the time of its rows in {time.column.name}, or none added rows.")
    return {
        "picture": picture.to_json(),
        "why_not": None,
        "axis": chosen_axis,
        "can_switch": len({one.snapshot for one in arrived}) > 1,
        "latest": _latest(picture.cells),
        "column": time.column.name,
        "unit": _UNIT_WORDS[time.unit],
        "is_partitioned": time.is_partitioned,
        "snapshots": len(chosen),
        "is_cut": is_cut or len(chosen) < len(line),
        "unknown_rows": sum(x.records for added in found for x in added if x.from_ms is None),
        "has_overwrites": any(summary_operation(x) is Operation.OVERWRITE for x in chosen),
    }


def _latest(cells: Sequence[Cell]) -> list[Json]:
    """The cells with late rows, the latest first, as a table has them."""
    late = sorted((cell for cell in cells if cell.late), key=lambda cell: (-cell.late_by, -cell.late))
    return [
        {"arrived": cell.arrived, "event": cell.event, "late": cell.late, "late_by": cell.late_by}
        for cell in late[:LATE_LISTED]
    ]


def _without(why: str) -> Json:
    return {"picture": None, "why_not": why}


def _time_column(metadata: TableMetadata) -> _TimeColumn | None:
    partitioned = default_range_column(metadata)
    if partitioned is not None:
        fields = metadata.default_spec
        transforms = [field["transform"] for field in fields if field["source-id"] == partitioned.id]
        return _TimeColumn(partitioned, min(_UNITS.get(x, _DAY) for x in transforms), is_partitioned=True)
    found = first_time_column(metadata)
    return None if found is None else _TimeColumn(found, _DAY, is_partitioned=False)


def _newest_within(line: Sequence[Snapshot]) -> list[Snapshot]:
    """The newest snapshots, oldest first, that have no more files than are looked at."""
    chosen: list[Snapshot] = []
    files = 0
    for snapshot in reversed(line):
        files += count(snapshot, "added-data-files")
        if len(chosen) == SNAPSHOTS or (chosen and files > FILES):
            break
        chosen.append(snapshot)
    return chosen[::-1]


def _read(
    table: SourceTable, snapshots: Sequence[Snapshot], column: RangeColumn
) -> list[tuple[AddedRows, ...]]:
    sample = table.metadata.metadata_location
    return list(map_files(partial(_added, table, column), snapshots, sample))


def _added(table: SourceTable, column: RangeColumn, snapshot: Snapshot) -> tuple[AddedRows, ...]:
    # The same rows in other files did not arrive.
    if summary_operation(snapshot) is Operation.REPLACE:
        return ()
    key = (table.uuid, snapshot.id, column.id)
    kept = _kept.get(key)
    return _kept.keep(key, added_by_time(table, snapshot, column)) if kept is None else kept
