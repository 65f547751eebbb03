"""How late rows are: by the clock, or by what had come before them. In milliseconds; 0 is on time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from calve.ui.drawing.heat_axes import Arrived

#: So small a part of a snapshot may be newer than what counts as its newest: clocks of others go wrong.
_AHEAD = 0.01
_HOUR, _DAY = 3_600_000, 86_400_000


@dataclass(frozen=True, slots=True)
class Band:
    """Rows that are late by more than `over` units and no more than `up_to`; `dots` mark their cells."""

    dots: int
    over: int
    up_to: int | None
    rows: int


def late_by_clock(some: Sequence[Arrived], unit: int) -> list[int]:
    """How long after the span it tells of each arrived, if that is more than one unit."""
    behind = (one.at - one.event_to for one in some)
    return [time if time > unit else 0 for time in behind]


def late_by_order(some: Sequence[Arrived], unit: int) -> list[int]:
    """How far each lies behind the newest that an earlier snapshot brought, if that is a unit or more."""
    fronts = fronts_before(some)
    behind = (0 if (front := fronts[one.snapshot]) is None else front - one.event_to for one in some)
    return [time if time >= unit else 0 for time in behind]


def fronts_before(some: Sequence[Arrived]) -> dict[int, int | None]:
    """The newest time that had come before each snapshot; None before the first. `some` is in their order."""
    found: dict[int, int | None] = {}
    front: int | None = None
    for snapshot, group in groupby(some, key=lambda one: one.snapshot):
        found[snapshot] = front
        newest = _newest(list(group))
        front = newest if front is None else max(front, newest)
    return found


def _newest(brought: Sequence[Arrived]) -> int:
    ordered = sorted(brought, key=lambda one: one.event_to, reverse=True)
    left = sum(one.rows for one in ordered) * _AHEAD
    for one in ordered:
        left -= one.rows
        if left < 0:
            return one.event_to
    return ordered[-1].event_to


def bounds_of(unit: int) -> tuple[int, int]:
    """Up to how many units is a little late, and up to how many is late."""
    if unit <= _HOUR:
        return 3, 24
    return (3, 7) if unit <= _DAY else (3, 12)


def dots_of(lateness: int, unit: int) -> int:
    """Three dots for what is very late, none for what is on time."""
    little, much = bounds_of(unit)
    if not lateness:
        return 0
    return 1 if lateness <= little * unit else 2 if lateness <= much * unit else 3


def bands(some: Sequence[Arrived], lateness: Sequence[int], unit: int) -> tuple[Band, ...]:
    """How many rows are how late; only what there is."""
    little, much = bounds_of(unit)
    limits = ((1, 0, little), (2, little, much), (3, much, None))
    rows = [0, 0, 0, 0]
    for one, late in zip(some, lateness, strict=True):
        rows[dots_of(late, unit)] += one.rows
    return tuple(Band(dots, over, up_to, rows[dots]) for dots, over, up_to in limits if rows[dots])
