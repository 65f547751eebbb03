"""Stretches of time on tracks, one below the other, over one axis. Places are percents of the width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

ROW_HEIGHT = 26
_TICKS = 8
#: What is too short to be seen is drawn this wide.
_LEAST = 0.25
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_UNITS = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (_SECOND, "s"), (1, "ms"))
_STEPS = (
    *(number * scale for scale in (1, 10, 100) for number in (1, 2, 5)),
    *(number * _SECOND for number in (1, 2, 5, 10, 15, 30)),
    *(number * _MINUTE for number in (1, 2, 5, 10, 15, 30)),
    *(number * _HOUR for number in (1, 2, 3, 6, 12)),
    *(number * _DAY for number in (1, 2, 7, 14, 30, 90, 180, 365)),
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time on a track, in milliseconds; `kind` says what it was spent with. `end` None: it goes on."""

    kind: str
    begin: int
    end: int | None
    status: str
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Track:
    """A row of the picture."""

    id: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch on the picture, and how long it lasted."""

    x: float
    width: float
    kind: str
    status: str
    attempt: int
    took: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on the axis, as a time since its beginning."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture: one row of bars for each track, in order."""

    begin: int
    end: int
    rows: tuple[tuple[str, tuple[Bar, ...]], ...]
    ticks: tuple[Tick, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a page and its twin."""
        return {
            "begin": self.begin,
            "end": self.end,
            "row_height": ROW_HEIGHT,
            "height": ROW_HEIGHT * len(self.rows),
            "rows": [
                {"id": name, "y": ROW_HEIGHT * number, "bars": [asdict(bar) for bar in bars]}
                for number, (name, bars) in enumerate(self.rows)
            ],
            "ticks": [asdict(tick) for tick in self.ticks],
        }


def draw_gantt(tracks: Sequence[Track], begin: int, end: int) -> Chart:
    """Place all stretches between `begin` and `end`; what lies outside is cut off, and what goes on ends."""
    end = max(end, begin + 1)
    rows = tuple((track.id, tuple(_bars(track.stretches, begin, end))) for track in tracks)
    return Chart(begin, end, rows, tuple(_ticks(end - begin)))


def _bars(stretches: Iterable[Stretch], begin: int, end: int) -> Iterable[Bar]:
    for stretch in stretches:
        last = end if stretch.end is None else stretch.end
        left, right = max(stretch.begin, begin), min(last, end)
        if right < left:
            continue
        width = max(_percent(right - left, end - begin), _LEAST)
        x = min(_percent(left - begin, end - begin), 100 - width)
        yield Bar(
            round(x, 3),
            round(width, 3),
            stretch.kind,
            stretch.status,
            stretch.attempt,
            max(last - stretch.begin, 0),
            stretch.end is None,
        )


def _ticks(span: int) -> Iterable[Tick]:
    step = next((step for step in _STEPS if span / step <= _TICKS), None)
    if step is None:
        step = _STEPS[-1] * -(-span // (_STEPS[-1] * _TICKS))
    for offset in range(0, span + 1, step):
        yield Tick(round(_percent(offset, span), 3), since(offset))


def since(offset: int) -> str:
    """A time since the beginning, without the units that are zero."""
    if _SECOND <= offset < _MINUTE and offset % _SECOND:
        return f"{offset / _SECOND:g} s"
    parts = []
    for unit, name in _UNITS:
        count, offset = divmod(offset, unit)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts) or "0"


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole
