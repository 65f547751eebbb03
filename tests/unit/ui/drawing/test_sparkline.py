from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from calve.ui.drawing.sparkline import BAR_WIDTH, HEIGHT, draw_sparkline

SPANS = st.lists(st.none() | st.floats(0, 1e12), max_size=40)


@given(SPANS, st.integers(1, 30))
def test_bars_stand_side_by_side_inside_the_picture(spans: list[float | None], places: int) -> None:
    drawn = draw_sparkline(spans, places)
    assert len(drawn.bars) == min(len(spans), places)
    assert all(bar.y >= 0 and bar.y + bar.height <= drawn.foot + 0.2 < HEIGHT for bar in drawn.bars)
    assert all(left.x + BAR_WIDTH < right.x for left, right in pairwise(drawn.bars))
    if drawn.bars:
        assert drawn.bars[-1].x + BAR_WIDTH == drawn.width


def test_the_longest_run_is_the_highest_and_one_without_a_duration_still_shows() -> None:
    short, long, none = draw_sparkline([100, 900, None], 20).bars
    assert long.height > short.height > none.height > 0


def test_only_the_newest_are_drawn_if_there_are_more_than_places() -> None:
    assert [bar.height for bar in draw_sparkline([9, 9, 1, 2], 2).bars] == [
        bar.height for bar in draw_sparkline([1, 2], 2).bars
    ]


def test_no_runs_give_no_bars() -> None:
    assert draw_sparkline([], 20).bars == ()
