"""Rows by when they arrived against the time that they tell of: the picture of late data."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Literal

from calve.ui.drawing.heat_axes import Across, Arrived, SnapshotAxis, TimeAxis
from calve.ui.drawing.lateness import Band, bands, dots_of, fronts_before, late_by_clock, late_by_order

Axis = Literal["time", "snapshot"]
LEVELS = 6
#: With fewer spans of arrival than this, time tells less than the order of the snapshots.
_FEWEST_SPANS = 4
_MOST_COLUMNS, _MOST_SNAPSHOTS, _MOST_ROWS = 64, 96, 36
_LEFT, _TOP, _BOTTOM, _RIGHT = 4, 10, 34, 10
_WIDTH, _HEIGHT = 1080, 400
_MIN_CELL, _MAX_CELL_WIDTH, _MAX_CELL_HEIGHT = 11.0, 54.0, 20.0
_COLUMN_TICKS, _ROW_TICKS = 104, 22
_DOTS_APART = 3.2
#: So small a part of the rows may lie beyond the lowest and the uppermost row; it is drawn in these.
_TAIL = 0.001
_Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Cell:
    """Rows on the picture: how many, how strong, when they arrived and what they tell of.

    `late` of them are late, by up to `late_by`; `dots` are where the marks stand that say so.
    """

    x: float
    y: float
    rows: int
    level: int
    late: int
    late_by: int
    dots: tuple[float, ...]
    arrived: str
    event: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text at an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Shade:
    """What a colour stands for."""

    level: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The picture; what lies below `front` is older than what was to be expected when it arrived."""

    width: float
    height: float
    left: float
    top: float
    right: float
    bottom: float
    cell_width: float
    cell_height: float
    cells: tuple[Cell, ...]
    columns: tuple[Label, ...]
    rows: tuple[Label, ...]
    front: tuple[_Point, ...]
    shades: tuple[Shade, ...]
    bands: tuple[Band, ...]
    total: int
    late: int
    latest_by: int

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a page and its twin."""
        return asdict(self)


def choose_axis(arrived: Sequence[Arrived], unit: int) -> Axis:
    """By snapshot where all arrived within a few units of time, though there are more snapshots than those.

    So it is when a lake is filled within minutes with what tells of many days.
    """
    some = [x for x in arrived if x.rows > 0]
    spans = len({x.at // unit for x in some})
    return "snapshot" if spans < _FEWEST_SPANS and len({x.snapshot for x in some}) > spans else "time"


def draw_heat(arrived: Sequence[Arrived], unit: int, axis: Axis = "time") -> HeatMap | None:
    """Place rows in cells. `unit` is how long the span is that partitions tell apart.

    By time, late is what arrives more than one unit after the span it tells of; by snapshot, what lies one
    unit or more behind the newest of earlier snapshots, as which `arrived` is ordered. None without any rows.
    """
    some = [x for x in arrived if x.rows > 0]
    if not some:
        return None
    low, high = _core(some)
    up = TimeAxis.over(low, high, unit, _MOST_ROWS)
    if axis == "time":
        across = TimeAxis.over(min(x.at for x in some), max(x.at for x in some), 0, _MOST_COLUMNS)
        plan = _Plan(unit, across, up)
        return _picture(some, late_by_clock(some, unit), plan, _diagonal(plan, across))
    by_order = SnapshotAxis.over(some, _MOST_SNAPSHOTS)
    plan = _Plan(unit, by_order, up)
    return _picture(some, late_by_order(some, unit), plan, _stairs(some, plan))


@dataclass(slots=True)
class _Amount:
    rows: int = 0
    late: int = 0
    late_by: int = 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where things are."""

    unit: int
    across: Across
    up: TimeAxis

    @property
    def width(self) -> float:
        """That of a cell."""
        return min(max(_WIDTH / self.across.count, _MIN_CELL), _MAX_CELL_WIDTH)

    @property
    def height(self) -> float:
        """That of a cell."""
        return min(max(_HEIGHT / self.up.count, _MIN_CELL), _MAX_CELL_HEIGHT)

    @property
    def bottom(self) -> float:
        """Where the lowest row ends."""
        return _TOP + self.height * self.up.count

    def x(self, column: float) -> float:
        """The left end of a column."""
        return round(_LEFT + self.width * column, 1)

    def y(self, row: float) -> float:
        """The lower end of a row."""
        return round(self.bottom - self.height * row, 1)

    def level_with(self, moment: int) -> float:
        """Where a moment lies, on the picture."""
        row = (moment - self.up.start) / self.up.step
        return self.y(min(max(row, 0), self.up.count))


def _core(some: Sequence[Arrived]) -> tuple[int, int]:
    """Where all rows but for a small tail on either side lie: one row of 1970 must not flatten the rest."""
    ordered = sorted(some, key=lambda x: x.event_from)
    tail = sum(x.rows for x in ordered) * _TAIL
    return _beyond(ordered, tail), _beyond(list(reversed(ordered)), tail)


def _beyond(ordered: Sequence[Arrived], tail: float) -> int:
    passed = 0
    for one in ordered:
        passed += one.rows
        if passed > tail:
            return one.event_from
    return ordered[-1].event_from


def _picture(
    some: Sequence[Arrived], lateness: Sequence[int], plan: _Plan, front: tuple[_Point, ...]
) -> HeatMap:
    found = _amounts(some, lateness, plan)
    uppers = _uppers(max(amount.rows for amount in found.values()))
    right = plan.x(plan.across.count)
    return HeatMap(
        width=round(max(right + _RIGHT, 300), 1),
        height=round(plan.bottom + _BOTTOM, 1),
        left=_LEFT,
        top=_TOP,
        right=right,
        bottom=round(plan.bottom, 1),
        cell_width=round(plan.width, 2),
        cell_height=round(plan.height, 2),
        cells=tuple(_cell(plan, uppers, *place, found[place]) for place in sorted(found)),
        columns=_labels(plan.across, plan.width, _COLUMN_TICKS, plan.x),
        rows=_labels(plan.up, plan.height, _ROW_TICKS, lambda at: plan.y(at + 0.5) + 4),
        front=front,
        shades=_shades(uppers),
        bands=bands(some, lateness, plan.unit),
        total=sum(x.rows for x in some),
        late=sum(x.rows for x, late in zip(some, lateness, strict=True) if late),
        latest_by=max(lateness),
    )


def _amounts(some: Sequence[Arrived], lateness: Sequence[int], plan: _Plan) -> dict[tuple[int, int], _Amount]:
    found: dict[tuple[int, int], _Amount] = {}
    for one, late in zip(some, lateness, strict=True):
        amount = found.setdefault((plan.across.column(one), plan.up.place(one.event_from)), _Amount())
        amount.rows += one.rows
        amount.late += one.rows if late else 0
        amount.late_by = max(amount.late_by, late)
    return found


def _cell(plan: _Plan, uppers: Sequence[int], column: int, row: int, amount: _Amount) -> Cell:
    dots = dots_of(amount.late_by, plan.unit)
    middle = _LEFT + plan.width * (column + 0.5) - _DOTS_APART * (dots - 1) / 2
    return Cell(
        plan.x(column),
        plan.y(row + 1),
        amount.rows,
        _level(uppers, amount.rows),
        amount.late,
        amount.late_by,
        tuple(round(middle + _DOTS_APART * at, 1) for at in range(dots)),
        plan.across.words(column),
        plan.up.text(row),
    )


def _labels(axis: Across, size: float, apart: float, place: Callable[[int], float]) -> tuple[Label, ...]:
    step = max(1, ceil(apart / size))
    return tuple(Label(round(place(at), 1), axis.text(at)) for at in range(0, axis.count, step))


def _diagonal(plan: _Plan, across: TimeAxis) -> tuple[_Point, ...]:
    """The line on which the time of arrival is the time told of, as far as it crosses the picture."""
    up = plan.up
    first = max(across.start, up.start)
    last = min(across.start + across.step * across.count, up.start + up.step * up.count)
    if last <= first:
        return ()
    return tuple(
        (plan.x((moment - across.start) / across.step), plan.level_with(moment)) for moment in (first, last)
    )


def _stairs(some: Sequence[Arrived], plan: _Plan) -> tuple[_Point, ...]:
    """A step for each column, below which lies what is older than what had come before."""
    fronts: dict[int, int] = {}
    befores = fronts_before(some)
    for one in some:
        before = befores[one.snapshot]
        if before is not None:
            fronts.setdefault(plan.across.column(one), before)
    levels = {column: plan.level_with(front - plan.unit + 1) for column, front in fronts.items()}
    ends = ((plan.x(column), plan.x(column + 1), level) for column, level in levels.items())
    return tuple(point for left, right, level in ends for point in ((left, level), (right, level)))


def _uppers(most: int) -> list[int]:
    """The greatest number of each shade: equal steps of a logarithm, for few rows are late."""
    return sorted({ceil(round(most ** (k / LEVELS), 6)) for k in range(1, LEVELS + 1)})


def _level(uppers: Sequence[int], rows: int) -> int:
    """The last shade is the strongest, however few there are."""
    return LEVELS - (len(uppers) - 1 - bisect_left(uppers, rows))


def _shades(uppers: Sequence[int]) -> tuple[Shade, ...]:
    lowers = [1, *(upper + 1 for upper in uppers[:-1])]
    return tuple(
        Shade(_level(uppers, upper), lower, upper) for lower, upper in zip(lowers, uppers, strict=True)
    )
