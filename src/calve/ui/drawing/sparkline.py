"""A row of bars, one for each run: the longer it took, the higher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

BAR_WIDTH = 5
HEIGHT = 26
_STEP = BAR_WIDTH + 2
#: What even the shortest run shows.
_LEAST = 4
#: Below the bars, room for a mark under those that failed.
_FOOT = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """A run on the picture; `x` and `y` are the upper left corner."""

    x: float
    y: float
    height: float

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a page and its twin."""
        return {"x": self.x, "y": self.y, "width": BAR_WIDTH, "height": self.height}


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Bars on a common foot, at `foot`. `places` keeps the width the same for any number of them."""

    width: float
    height: float
    foot: float
    bars: tuple[Bar, ...]


def draw_sparkline(durations: Sequence[float | None], places: int) -> Sparkline:
    """Bars for durations, the last one at the right end; None is a run that took no time yet."""
    shown = durations[-places:] if places else ()
    longest = max((span for span in shown if span is not None), default=0.0)
    foot = HEIGHT - _FOOT
    first = places - len(shown)
    bars = []
    for index, span in enumerate(shown):
        height = _height(span, longest, foot)
        bars.append(Bar((first + index) * _STEP, round(foot - height, 1), height))
    return Sparkline(max(places * _STEP - 2, 0), HEIGHT, foot, tuple(bars))


def _height(span: float | None, longest: float, room: float) -> float:
    if not span or longest <= 0:
        return _LEAST
    return round(_LEAST + (room - _LEAST) * max(span, 0.0) / longest, 1)
