"""Stretches of time on tracks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calve.ui.drawing.gantt import ROW_HEIGHT, Bar, Stretch, Track, draw_gantt, since

MOMENTS = st.integers(min_value=0, max_value=10**10)


def one_bar(stretch: Stretch, begin: int = 0, end: int = 1_000) -> Bar:
    chart = draw_gantt([Track("a", (stretch,))], begin, end)
    ((_, bars),) = chart.rows
    (bar,) = bars
    return bar


def test_a_stretch_stands_where_it_was_in_percents_of_the_whole() -> None:
    bar = one_bar(Stretch("running", 250, 750, "SUCCEEDED"))
    assert (bar.x, bar.width, bar.took, bar.is_live) == (25, 50, 500, False)


def test_what_goes_on_reaches_to_the_end() -> None:
    bar = one_bar(Stretch("running", 400, None, "RUNNING"))
    assert (bar.x, bar.width, bar.took, bar.is_live) == (40, 60, 600, True)


def test_what_lies_outside_is_cut_off_and_keeps_its_length_in_words() -> None:
    bar = one_bar(Stretch("queued", 0, 700, "CREATED"), begin=500, end=1_000)
    assert (bar.x, bar.width, bar.took) == (0, 40, 700)
    chart = draw_gantt([Track("a", (Stretch("queued", 0, 400, "CREATED"),))], 500, 1_000)
    assert chart.rows == (("a", ()),)


def test_what_took_no_time_can_still_be_seen_also_at_the_end() -> None:
    bar = one_bar(Stretch("running", 1_000, 1_000, "SUCCEEDED"))
    assert 0 < bar.width < 1
    assert bar.x + bar.width == 100


def test_rows_are_below_each_other_in_the_order_of_the_tracks() -> None:
    drawn = draw_gantt([Track("b", ()), Track("a", ())], 0, 10).to_json()
    assert [(row["id"], row["y"]) for row in drawn["rows"]] == [("b", 0), ("a", ROW_HEIGHT)]
    assert drawn["height"] == 2 * ROW_HEIGHT


def test_ticks_have_round_labels() -> None:
    assert [tick.label for tick in draw_gantt([], 0, 75_000).ticks] == [
        "0", "10 s", "20 s", "30 s", "40 s", "50 s", "1 min", "1 min 10 s",
    ]  # fmt: skip
    hours = draw_gantt([], 0, 5 * 3_600_000).ticks
    assert [(tick.x, tick.label) for tick in hours[:2]] == [(0, "0"), (20, "1 h")]


def test_times_since_the_beginning_leave_out_what_is_zero() -> None:
    assert [since(offset) for offset in (0, 500, 1_500, 60_000, 90_000, 90_000_000)] == [
        "0", "500 ms", "1.5 s", "1 min", "1 min 30 s", "1 d 1 h",
    ]  # fmt: skip


@given(MOMENTS, MOMENTS)
def test_there_are_always_a_few_ticks_and_all_are_on_the_axis(begin: int, span: int) -> None:
    ticks = draw_gantt([], begin, begin + span).ticks
    assert 1 <= len(ticks) <= 9
    places = [tick.x for tick in ticks]
    assert places == sorted(set(places))
    assert places[0] == 0
    assert places[-1] <= 100


@given(st.lists(st.tuples(MOMENTS, st.none() | MOMENTS)), MOMENTS, MOMENTS)
def test_no_bar_leaves_the_picture(spans: list[tuple[int, int | None]], begin: int, end: int) -> None:
    track = Track("a", tuple(Stretch("running", left, right, "RUNNING") for left, right in spans))
    for _, bars in draw_gantt([track], begin, end).rows:
        for bar in bars:
            assert bar.x >= 0
            assert bar.width > 0
            assert bar.x + bar.width <= 100.001
            assert bar.took >= 0
