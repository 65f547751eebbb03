"""Rows by when they arrived against the time that they tell of: the picture of late data."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

LEVELS = 6
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_STEPS = (
    *(_SECOND, 5 * _SECOND, 15 * _SECOND),
    *(_MINUTE, 5 * _MINUTE, 15 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR),
    *(_DAY, 7 * _DAY, 28 * _DAY, 364 * _DAY),
)
_MOST_COLUMNS, _MOST_ROWS = 64, 36
_LEFT, _TOP, _BOTTOM, _RIGHT = 92, 10, 34, 10
_WIDTH, _HEIGHT = 1080, 400
_MIN_CELL, _MAX_CELL_WIDTH, _MAX_CELL_HEIGHT = 11.0, 54.0, 20.0
_COLUMN_TICKS, _ROW_TICKS = 104, 22
#: So small a part of the rows may lie beyond the lowest and the uppermost row; it is drawn in these.
_TAIL = 0.001
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows that were committed at one moment, and that tell of a span of time; all in milliseconds."""

    at: int
    event_from: int
    event_to: int
    rows: int


@dataclass(frozen=True, slots=True)
class Cell:
    """Rows on the picture: how many, how strong, when they arrived and what they tell of."""

    x: float
    y: float
    rows: int
    level: int
    late: int
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
    """The picture; `diagonal` is where rows are told of when they arrive: what lies below it is late."""

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
    diagonal: tuple[float, float, float, float] | None
    shades: tuple[Shade, ...]
    total: int
    late: int
    latest_by: int

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a page and its twin."""
        return asdict(self)


def draw_heat(arrived: Sequence[Arrived], unit: int) -> HeatMap | None:
    """Place rows in cells of equal spans. `unit` is how long the span is that partitions tell apart.

    Late is what arrives more than one unit after the span it tells of. None without any rows.
    """
    some = [x for x in arrived if x.rows > 0]
    if not some:
        return None
    across = _Axis.over(min(x.at for x in some), max(x.at for x in some), 0, _MOST_COLUMNS)
    low, high = _core(some)
    up = _Axis.over(low, high, unit, _MOST_ROWS)
    found: dict[tuple[int, int], list[int]] = {}
    for one in some:
        amount = found.setdefault((across.place(one.at), up.place(one.event_from)), [0, 0])
        amount[0] += one.rows
        amount[1] += one.rows if _lateness(one, unit) else 0
    return _picture(some, unit, across, up, found)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Spans of `step` from `start` on."""

    start: int
    step: int
    count: int

    @classmethod
    def over(cls, low: int, high: int, least: int, most: int) -> _Axis:
        """The finest spans, none shorter than `least`, of which no more than `most` are needed."""
        wanted = [step for step in _STEPS if step >= least] or [_STEPS[-1]]
        fitting = (step for step in wanted if high // step - low // step < most)
        step = next(fitting, -(-(high - low + 1) // most))
        start = low // step * step
        return cls(start, step, (high - start) // step + 1)

    def place(self, moment: int) -> int:
        """The span that a moment is in, or the nearest."""
        return min(max((moment - self.start) // self.step, 0), self.count - 1)

    def text(self, place: int) -> str:
        """When a span begins, in UTC, as exactly as its length asks for."""
        return _text(self.start + place * self.step, self.step)


def _text(moment: int, step: int) -> str:
    try:
        at = _EPOCH + timedelta(milliseconds=moment)
    except OverflowError:
        return f"{moment} ms"
    if step >= _DAY:
        return f"{at:%Y-%m-%d}"
    return f"{at:%m-%d %H:%M}" if step >= _MINUTE else f"{at:%d. %H:%M:%S}"


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


def _lateness(one: Arrived, unit: int) -> int:
    behind = one.at - one.event_to
    return behind if behind > unit else 0


def _picture(
    some: Sequence[Arrived], unit: int, across: _Axis, up: _Axis, found: dict[tuple[int, int], list[int]]
) -> HeatMap:
    width = min(max(_WIDTH / across.count, _MIN_CELL), _MAX_CELL_WIDTH)
    height = min(max(_HEIGHT / up.count, _MIN_CELL), _MAX_CELL_HEIGHT)
    right, bottom = _LEFT + width * across.count, _TOP + height * up.count
    uppers = _uppers(max(rows for rows, _ in found.values()))
    cells = tuple(
        Cell(
            round(_LEFT + width * column, 1),
            round(bottom - height * (row + 1), 1),
            rows,
            _level(uppers, rows),
            late,
            across.text(column),
            up.text(row),
        )
        for (column, row), (rows, late) in sorted(found.items())
    )
    return HeatMap(
        width=round(max(right + _RIGHT, 300), 1),
        height=round(bottom + _BOTTOM, 1),
        left=_LEFT,
        top=_TOP,
        right=round(right, 1),
        bottom=round(bottom, 1),
        cell_width=round(width, 2),
        cell_height=round(height, 2),
        cells=cells,
        columns=_labels(across, width, _COLUMN_TICKS, lambda at: _LEFT + width * at),
        rows=_labels(up, height, _ROW_TICKS, lambda at: bottom - height * (at + 0.5) + 4),
        diagonal=_diagonal(across, up, width, height, bottom),
        shades=_shades(uppers),
        total=sum(x.rows for x in some),
        late=sum(x.rows for x in some if _lateness(x, unit)),
        latest_by=max(_lateness(x, unit) for x in some),
    )


def _labels(axis: _Axis, size: float, apart: float, place: Callable[[int], float]) -> tuple[Label, ...]:
    step = max(1, ceil(apart / size))
    return tuple(Label(round(place(at), 1), axis.text(at)) for at in range(0, axis.count, step))


def _diagonal(
    across: _Axis, up: _Axis, width: float, height: float, bottom: float
) -> tuple[float, float, float, float] | None:
    """The line on which the time of arrival is the time told of, as far as it crosses the picture."""
    first = max(across.start, up.start)
    last = min(across.start + across.step * across.count, up.start + up.step * up.count)
    if last <= first:
        return None

    def point(moment: int) -> tuple[float, float]:
        x = _LEFT + (moment - across.start) / across.step * width
        return round(x, 1), round(bottom - (moment - up.start) / up.step * height, 1)

    return (*point(first), *point(last))


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
