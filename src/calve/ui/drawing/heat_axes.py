"""The axes of the picture of late data: spans of time, or snapshots in the order in which they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_STEPS = (
    *(_SECOND, 5 * _SECOND, 15 * _SECOND),
    *(_MINUTE, 5 * _MINUTE, 15 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR),
    *(_DAY, 7 * _DAY, 28 * _DAY, 364 * _DAY),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows that a snapshot brought at one moment, and that tell of a span of time; all in milliseconds."""

    at: int
    event_from: int
    event_to: int
    rows: int
    snapshot: int


class Across(Protocol):
    """What stands from left to right."""

    @property
    def count(self) -> int:
        """How many columns."""

    def column(self, one: Arrived) -> int:
        """The column of what arrived."""

    def text(self, place: int) -> str:
        """What stands below a column."""

    def words(self, place: int) -> str:
        """When what is in a column arrived."""


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Spans of `step` from `start` on."""

    start: int
    step: int
    count: int

    @classmethod
    def over(cls, low: int, high: int, least: int, most: int) -> TimeAxis:
        """The finest spans, none shorter than `least`, of which no more than `most` are needed."""
        wanted = [step for step in _STEPS if step >= least] or [_STEPS[-1]]
        fitting = (step for step in wanted if high // step - low // step < most)
        step = next(fitting, -(-(high - low + 1) // most))
        start = low // step * step
        return cls(start, step, (high - start) // step + 1)

    def place(self, moment: int) -> int:
        """The span that a moment is in, or the nearest."""
        return min(max((moment - self.start) // self.step, 0), self.count - 1)

    def column(self, one: Arrived) -> int:
        """The span in which it arrived."""
        return self.place(one.at)

    def text(self, place: int) -> str:
        """When a span begins, in UTC, as exactly as its length asks for."""
        return moment_text(self.start + place * self.step, self.step)

    def words(self, place: int) -> str:
        """The same: a span is its beginning."""
        return self.text(place)


@dataclass(frozen=True, slots=True)
class SnapshotAxis:
    """Snapshots in the order in which they came, `each` of them in a column."""

    moments: tuple[int, ...]
    places: dict[int, int]
    each: int

    @classmethod
    def over(cls, some: Sequence[Arrived], most: int) -> SnapshotAxis:
        """A column for each snapshot, or for as many as need be that there are no more than `most`."""
        moments = {one.snapshot: one.at for one in some}
        each = -(-len(moments) // most)
        return cls(tuple(moments.values()), {key: at for at, key in enumerate(moments)}, each)

    @property
    def count(self) -> int:
        """How many columns."""
        return -(-len(self.moments) // self.each)

    def column(self, one: Arrived) -> int:
        """That of its snapshot."""
        return self.places[one.snapshot] // self.each

    def text(self, place: int) -> str:
        """When the first snapshot of a column was committed."""
        apart = (max(self.moments) - min(self.moments)) // self.count
        return moment_text(self.moments[place * self.each], _HOUR if apart >= _DAY else max(apart, 1))

    def words(self, place: int) -> str:
        """Which snapshots, of those on the picture, are in a column, and when the first was committed."""
        first = place * self.each
        last = min(first + self.each, len(self.moments))
        which = f"snapshot {last}" if last == first + 1 else f"snapshots {first + 1} to {last}"
        return f"{which}, {moment_text(self.moments[first], 0)}"


def moment_text(moment: int, step: int) -> str:
    """A moment in UTC, as exactly as the distance to the next asks for; whole if there is none."""
    try:
        at = _EPOCH + timedelta(milliseconds=moment)
    except OverflowError:
        return f"{moment} ms"
    if not step:
        return f"{at:%Y-%m-%d %H:%M:%S}"
    if step >= _DAY:
        return f"{at:%Y-%m-%d}"
    return f"{at:%m-%d %H:%M}" if step >= _MINUTE else f"{at:%m-%d %H:%M:%S}"
