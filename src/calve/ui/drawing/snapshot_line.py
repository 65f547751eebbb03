"""Snapshots along a line, and below it how far each consumer has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, sqrt
from typing import Any

_MARGIN = 14
_WIDTH = 1190
_MIN_SLOT, _MAX_SLOT = 17.0, 60.0
_LINE_Y = 26
_SMALLEST, _LARGEST = 3.5, 11.0
_AXIS = 20
#: From this width on a picture may be wider than the screen that it is seen on.
_WIDE = 600
_LANES_Y = 72
LANE_HEIGHT = 42
_BAR_Y, BAR_HEIGHT = 18, 14
#: Times on the axis are so far apart at least, and one this near to an edge is set inwards.
_TICKS_APART = 124
_TICK_HALF = 40


@dataclass(frozen=True, slots=True)
class Snap:
    """A snapshot: when it was committed, what it did, how many rows it added and removed."""

    id: int
    at: int
    operation: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some snapshots in a row, by their places, in one state for a consumer."""

    first: int
    last: int
    state: str
    capture_id: str | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """A consumer; `frontier` is the place of the last snapshot before which all is committed, or None."""

    name: str
    stretches: tuple[Stretch, ...]
    frontier: int | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A snapshot on the picture: a path of SVG whose shape tells what it did."""

    id: int
    at: int
    operation: str
    added: int
    removed: int
    x: float
    path: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A time on the axis; `anchor` is where its text begins, ends or has its middle."""

    at: int
    x: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch on the picture."""

    x: float
    width: float
    state: str
    capture_id: str | None
    snapshots: int


@dataclass(frozen=True, slots=True)
class DrawnLane:
    """A lane on the picture: its name stands above its bars."""

    name: str
    name_x: float
    name_y: float
    name_anchor: str
    y: float
    bars: tuple[Bar, ...]
    frontier_x: float | None


@dataclass(frozen=True, slots=True)
class SnapshotLine:
    """The picture."""

    width: float
    height: float
    line_y: float
    axis_y: float
    start_x: float
    end_x: float
    bar_height: float
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    lanes: tuple[DrawnLane, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a page and its twin."""
        return asdict(self)


def draw_line(snaps: Sequence[Snap], lanes: Sequence[Lane]) -> SnapshotLine:
    """Place snapshots, oldest first, at equal distances: what counts is their order, not the time between."""
    slot = min(max((_WIDTH - 2 * _MARGIN) / max(len(snaps), 1), _MIN_SLOT), _MAX_SLOT)
    end = _MARGIN + slot * len(snaps)
    most = max((snap.added for snap in snaps), default=0)
    marks = tuple(_mark(snap, _MARGIN + slot * (at + 0.5), slot, most) for at, snap in enumerate(snaps))
    width = max(end + _MARGIN, 320.0)
    return SnapshotLine(
        width=round(width, 1),
        height=_LANES_Y + LANE_HEIGHT * len(lanes),
        line_y=_LINE_Y,
        axis_y=_LINE_Y + _LARGEST + _AXIS,
        start_x=_MARGIN,
        end_x=round(end, 1),
        bar_height=BAR_HEIGHT,
        marks=marks,
        ticks=_ticks(marks, slot, width),
        lanes=tuple(_lane(lane, at, slot, end) for at, lane in enumerate(lanes)),
    )


def _mark(snap: Snap, x: float, slot: float, most: int) -> Mark:
    largest = min(_LARGEST, slot / 2)
    share = sqrt(snap.added / most) if most else 0.0
    radius = _SMALLEST + (largest - _SMALLEST) * share
    path = _shape(snap.operation, x, _LINE_Y, radius)
    return Mark(snap.id, snap.at, snap.operation, snap.added, snap.removed, round(x, 1), path)


def _shape(operation: str, x: float, y: float, radius: float) -> str:
    """A circle for an append, a diamond for an overwrite, a triangle for a delete, a square for a replace."""
    r = radius
    match operation:
        case "overwrite":
            corners = [(x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y)]
        case "delete":
            corners = [(x - r - 1, y - r), (x + r + 1, y - r), (x, y + r + 1)]
        case "replace":
            corners = [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)]
        case _:
            return (
                f"M{x - r:.1f} {y}a{r:.1f} {r:.1f} 0 1 0 {2 * r:.1f} 0a{r:.1f} {r:.1f} 0 1 0 {-2 * r:.1f} 0Z"
            )
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in corners) + "Z"


def _ticks(marks: Sequence[Mark], slot: float, width: float) -> tuple[Tick, ...]:
    """Times of some snapshots, the newest always among them."""
    step = max(1, ceil(_TICKS_APART / slot))
    shown = range((len(marks) - 1) % step, len(marks), step)
    return tuple(Tick(marks[at].at, marks[at].x, _anchor(marks[at].x, width)) for at in shown)


def _anchor(x: float, width: float) -> str:
    if x < _TICK_HALF:
        return "start"
    return "end" if x > width - _TICK_HALF else "middle"


def _lane(lane: Lane, number: int, slot: float, end: float) -> DrawnLane:
    top = _LANES_Y + LANE_HEIGHT * number
    bars = tuple(
        Bar(
            round(_MARGIN + slot * stretch.first + 1, 1),
            round(slot * (stretch.last - stretch.first + 1) - 2, 1),
            stretch.state,
            stretch.capture_id,
            stretch.last - stretch.first + 1,
        )
        for stretch in lane.stretches
    )
    frontier = None if lane.frontier is None else round(_MARGIN + slot * (lane.frontier + 1), 1)
    # The newest snapshots are what is seen first where there is no room for all, so names stand there.
    is_wide = end >= _WIDE
    place = (round(end, 1), "end") if is_wide else (float(_MARGIN), "start")
    return DrawnLane(lane.name, place[0], top + 9, place[1], top + _BAR_Y, bars, frontier)
