from __future__ import annotations

from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from calve.ui.drawing.day_timeline import DAY_MS, Span, draw_day

UTC = ZoneInfo("UTC")
#: 2024-03-10 12:30:00 UTC
NOW = 1_710_073_800_000
HOUR = 3_600_000


def test_a_bar_stands_at_its_time_and_is_as_wide_as_it_took() -> None:
    drawn = draw_day({"w": [Span("1/1", "SUCCEEDED", NOW - 12 * HOUR, NOW - 6 * HOUR)]}, NOW, UTC)
    (bar,) = drawn.rows[0].bars
    assert abs(bar.x - drawn.now / 2) < 0.02
    assert abs(bar.width - drawn.now / 4) < 0.02


def test_runs_of_one_status_that_stand_close_are_one_bar_and_others_are_not() -> None:
    close = [
        Span(f"{n}/1", "SUCCEEDED", NOW - HOUR + n * 1000, NOW - HOUR + n * 1000 + 500) for n in range(50)
    ]
    apart = Span("51/1", "SUCCEEDED", NOW - 5 * HOUR, NOW - 5 * HOUR)
    failed = Span("52/1", "FAILED", NOW - HOUR, NOW - HOUR)
    bars = draw_day({"w": [*close, apart, failed]}, NOW, UTC).rows[0].bars
    assert [(bar.status, bar.count, bar.id) for bar in bars] == [
        ("SUCCEEDED", 1, "51/1"),
        ("SUCCEEDED", 50, "49/1"),
        ("FAILED", 1, "52/1"),
    ]


def test_what_goes_on_reaches_up_to_now() -> None:
    drawn = draw_day({"w": [Span("1/1", "IN_PROGRESS", NOW - 30 * HOUR, None)]}, NOW, UTC)
    (bar,) = drawn.rows[0].bars
    assert bar.x == 0
    assert abs(bar.x + bar.width - drawn.now) < 0.02
    assert bar.end is None


def test_what_ended_before_is_left_out() -> None:
    assert draw_day({"w": [Span("1/1", "FAILED", 0, NOW - DAY_MS - 1)]}, NOW, UTC).rows[0].bars == ()


def test_ticks_are_hours_of_the_readers_zone() -> None:
    labels = [tick.label for tick in draw_day({"w": []}, NOW, UTC).ticks]
    assert labels == ["15:00", "18:00", "21:00", "10 Mar", "03:00", "06:00", "09:00", ""]
    half = draw_day({"w": []}, NOW, ZoneInfo("Asia/Kolkata"))
    assert [tick.label for tick in half.ticks][:3] == ["18:00", "21:00", "10 Mar"]
    # The clock went from two to three that night.
    changed = draw_day({"w": []}, NOW, ZoneInfo("America/New_York"))
    assert [tick.label for tick in changed.ticks] == [
        "09:00",
        "12:00",
        "15:00",
        "18:00",
        "21:00",
        "10 Mar",
        "03:00",
        "06:00",
    ]


def span(start: int, took: int | None, status: str) -> Span:
    return Span("1/1", status, NOW + start, None if took is None else NOW + start + took)


spans = st.builds(
    span,
    st.integers(-2 * DAY_MS, 0),
    st.none() | st.integers(0, DAY_MS),
    st.sampled_from(["FAILED", "SUCCEEDED"]),
)


@given(st.lists(spans, max_size=40))
def test_bars_stay_on_the_picture_and_lose_no_run_of_the_day(found: list[Span]) -> None:
    drawn = draw_day({"w": found}, NOW, UTC)
    bars = drawn.rows[0].bars
    assert all(bar.x >= 0 and bar.x + bar.width <= drawn.now + 0.02 for bar in bars)
    of_day = [span for span in found if span.end is None or span.end >= NOW - DAY_MS]
    assert sum(bar.count for bar in bars) == len(of_day)
