"""The last 24 hours as lines of bars: one line a workflow, one bar a run, or several that stand too close.

Places from left to right are percents of the width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

DAY_MS = 24 * 3_600_000
_NOW = 99.6
_TOP = 24.0
_ROW = 26.0
_BAR = 14.0
_LEAST_WIDTH = 0.35
#: Bars of one status that stand closer than this are drawn as one.
_GAP = 0.1
_TICK_HOURS = 3
#: The word "now" stands at the right, where no other text fits.
_NOW_WORD = 5.0


@dataclass(frozen=True, slots=True)
class Span:
    """What is to be drawn: from a moment to another, in milliseconds; `end` None: it goes on."""

    id: str
    status: str
    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Bar:
    """One or several spans of a status. `id` is that of the newest of them."""

    id: str
    status: str
    x: float
    width: float
    count: int
    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """A line; `y` is the middle of it."""

    id: str
    y: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """An hour of the reader's day."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """All of the picture."""

    height: float
    bar_height: float
    now: float
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a page and its twin."""
        rows = [{**_plain(row), "bars": [_plain(bar) for bar in row.bars]} for row in self.rows]
        return {**_plain(self), "rows": rows, "ticks": [_plain(tick) for tick in self.ticks]}


def _plain(part: Timeline | Row | Bar | Tick) -> dict[str, Any]:
    # Not `asdict`, which copies all that is within: there may be thousands of bars.
    return {name: getattr(part, name) for name in part.__slots__}


def draw_day(lines: Mapping[str, Sequence[Span]], now: int, zone: ZoneInfo) -> Timeline:
    """Place the spans of each line within the 24 hours before `now`; what lies outside is left out."""
    rows = tuple(
        Row(name, _TOP + _ROW * number + _ROW / 2, tuple(_bars(spans, now)))
        for number, (name, spans) in enumerate(lines.items())
    )
    return Timeline(
        height=_TOP + _ROW * len(rows) + 4,
        bar_height=_BAR,
        now=_place(now, now),
        rows=rows,
        ticks=tuple(_ticks(now, zone)),
    )


def _bars(spans: Sequence[Span], now: int) -> list[Bar]:
    """Bars from left to right, by status; those that went wrong last, so that nothing covers them."""
    by_status: dict[str, list[Bar]] = {}
    for span in sorted(spans, key=lambda span: span.start):
        end = now if span.end is None else span.end
        if end < now - DAY_MS or span.start > now:
            continue
        drawn = by_status.setdefault(span.status, [])
        bar = _bar(span, end, now)
        if drawn and bar.x < drawn[-1].x + drawn[-1].width + _GAP:
            drawn[-1] = _joined(drawn[-1], bar)
        else:
            drawn.append(bar)
    order = sorted(by_status, key=lambda status: (_is_trouble(status), status))
    return [bar for status in order for bar in by_status[status]]


def _bar(span: Span, end: int, now: int) -> Bar:
    x, right = _place(max(span.start, now - DAY_MS), now), _place(min(end, now), now)
    width = max(right - x, _LEAST_WIDTH)
    x = min(x, _place(now, now) - width)
    return Bar(span.id, span.status, round(x, 2), round(width, 2), 1, span.start, span.end)


def _joined(left: Bar, right: Bar) -> Bar:
    end = max(left.x + left.width, right.x + right.width)
    ended = None if left.end is None or right.end is None else max(left.end, right.end)
    return Bar(
        right.id, left.status, left.x, round(end - left.x, 2), left.count + right.count, left.start, ended
    )


def _is_trouble(status: str) -> bool:
    return status in ("FAILED", "TIMED_OUT")


def _place(moment: int, now: int) -> float:
    share = (moment - (now - DAY_MS)) / DAY_MS
    return share * _NOW


def _ticks(now: int, zone: ZoneInfo) -> list[Tick]:
    """Whole hours as the reader's clock shows them, also on days when that clock is changed."""
    first = datetime.fromtimestamp((now - DAY_MS) / 1000, UTC)
    hour = first.replace(minute=0, second=0, microsecond=0)
    ticks = []
    while hour.timestamp() * 1000 <= now:
        # Zones may be half an hour off: the tick stands where their hour begins.
        shown = hour.astimezone(zone)
        begins = hour - timedelta(minutes=shown.minute)
        moment = int(begins.timestamp() * 1000)
        local = begins.astimezone(zone)
        if now - DAY_MS <= moment <= now and local.hour % _TICK_HOURS == 0:
            label = local.strftime("%d %b") if local.hour == 0 else local.strftime("%H:%M")
            x = _place(moment, now)
            ticks.append(Tick(round(x, 2), label if x < _place(now, now) - _NOW_WORD else ""))
        hour += timedelta(hours=1)
    return ticks
