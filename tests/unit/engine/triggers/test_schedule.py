"""When time triggers fire: in their zone, through changes of the clock, each time once."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.engine.triggers.schedule import (
    delay_ms,
    due_firings,
    next_firing,
    read_trigger,
    timezone_of,
    trigger_text,
    trigger_uuid,
)
from calve.errors import UsageError
from calve.workflow.definition.triggers import CronTrigger, IntervalTrigger, PredefinedTrigger, TimeTrigger

BERLIN = "Europe/Berlin"
NEW_YORK = "America/New_York"
DAY = 86_400_000


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def cron(expression: str, timezone: str | None = None, delay: str | None = None) -> CronTrigger:
    return CronTrigger(type="CRON", cron=expression, timezone=timezone, fuzzy_max_delay=delay)


def named(expression: str, timezone: str | None = None) -> PredefinedTrigger:
    return PredefinedTrigger(type="PREDEFINED", expression=expression, timezone=timezone)


def local_times(trigger: TimeTrigger, after: str, until: str) -> list[str]:
    found = due_firings(trigger, ms(after), ms(until), 1000)
    zone = ZoneInfo(timezone_of(trigger))
    return [datetime.fromtimestamp(time / 1000, zone).strftime("%m-%d %H:%M%z") for time in found]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "until", "expected"),
    [
        # The hour that is left out: a fixed time in it fires once, when the hour would have begun.
        (
            "30 2 * * *", BERLIN, "2024-03-30T00:00Z", "2024-04-01T12:00Z",
            ["03-30 02:30+0100", "03-31 03:00+0200", "04-01 02:30+0200"],
        ),
        (
            "30 2 * * *", NEW_YORK, "2024-03-09T00:00Z", "2024-03-11T12:00Z",
            ["03-09 02:30-0500", "03-10 03:00-0400", "03-11 02:30-0400"],
        ),
        # The hour that comes twice: a fixed time in it fires once.
        (
            "30 2 * * *", BERLIN, "2024-10-26T00:00Z", "2024-10-28T12:00Z",
            ["10-26 02:30+0200", "10-27 02:30+0200", "10-28 02:30+0100"],
        ),
        (
            "30 1 * * *", NEW_YORK, "2024-11-02T12:00Z", "2024-11-04T12:00Z",
            ["11-03 01:30-0400", "11-04 01:30-0500"],
        ),
        # What fires every hour fires in every hour that passes.
        (
            "0 * * * *", BERLIN, "2024-03-31T00:00Z", "2024-03-31T02:00Z",
            ["03-31 03:00+0200", "03-31 04:00+0200"],
        ),
        (
            "0 * * * *", BERLIN, "2024-10-26T23:30Z", "2024-10-27T02:00Z",
            ["10-27 02:00+0200", "10-27 02:00+0100", "10-27 03:00+0100"],
        ),
        (
            "*/30 * * * *", NEW_YORK, "2024-11-03T04:45Z", "2024-11-03T07:00Z",
            [
                "11-03 01:00-0400", "11-03 01:30-0400", "11-03 01:00-0500", "11-03 01:30-0500",
                "11-03 02:00-0500",
            ],
        ),
        ("0 0 29 2 *", "UTC", "2023-01-01T00:00Z", "2030-01-01T00:00Z", ["02-29 00:00+0000"] * 2),
    ],
)  # fmt: skip
def test_firings_through_changes_of_the_clock_and_leap_days(
    expression: str, zone: str, after: str, until: str, expected: list[str]
) -> None:
    assert local_times(cron(expression, zone), after, until) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("@hourly", "2024-05-15T10:00Z"),
        ("@daily", "2024-05-15T22:00Z"),
        ("@weekly", "2024-05-18T22:00Z"),
        ("@monthly", "2024-05-31T22:00Z"),
        ("@yearly", "2024-12-31T23:00Z"),
    ],
)
def test_schedules_with_a_name_fire_at_the_begin_of_their_span_in_their_zone(
    name: str, expected: str
) -> None:
    assert next_firing(named(name, BERLIN), ms("2024-05-15T09:30:07Z")) == ms(expected)


def test_the_time_of_the_watermark_is_done() -> None:
    daily = named("@daily")
    assert next_firing(daily, ms("2024-05-15T00:00Z")) == ms("2024-05-16T00:00Z")
    assert due_firings(daily, ms("2024-05-15T00:00Z"), ms("2024-05-16T00:00Z"), 9) == [
        ms("2024-05-16T00:00Z")
    ]
    assert due_firings(daily, ms("2024-05-15T00:00Z"), ms("2024-05-16T00:00Z") - 1, 9) == []


def test_an_interval_never_fires() -> None:
    trigger = IntervalTrigger(type="INTERVAL", interval="1 h")
    assert next_firing(trigger, 0) is None
    assert due_firings(trigger, 0, DAY, 10) == []


def test_a_delay_moves_the_start_and_not_the_time() -> None:
    daily = named("@daily")
    midnight = ms("2024-05-16T00:00Z")
    assert due_firings(daily, midnight - DAY, midnight + 4_999, 9, delay=5_000) == []
    assert due_firings(daily, midnight - DAY, midnight + 5_000, 9, delay=5_000) == [midnight]


def test_the_delay_is_always_the_same_for_one_workflow_and_spreads_workflows() -> None:
    trigger = cron("0 0 * * *", delay="10 min")
    delays = [delay_ms(trigger, f"w{number}") for number in range(200)]
    assert delays == [delay_ms(trigger, f"w{number}") for number in range(200)]
    assert len(set(delays)) > 150
    assert all(0 <= delay <= 600_000 for delay in delays)
    assert delay_ms(cron("0 0 * * *"), "w") == 0


def test_a_delay_that_only_a_param_could_give_is_refused() -> None:
    with pytest.raises(UsageError, match="fuzzy_max_delay"):
        delay_ms(cron("0 0 * * *", delay="${slack}"), "w")


@pytest.mark.parametrize(
    "trigger",
    [cron("0 5 * * 1-5", BERLIN, "10 min"), named("@daily"), IntervalTrigger(type="INTERVAL", interval="1h")],
)
def test_a_trigger_comes_back_from_its_text_and_the_text_is_its_identity(trigger: TimeTrigger) -> None:
    text = trigger_text(trigger)
    assert read_trigger(text) == trigger
    assert trigger_uuid(text) == trigger_uuid(trigger_text(read_trigger(text)))


crons = st.sampled_from(
    ["* * * * *", "*/7 * * * *", "30 * * * *", "15 2 * * *", "30 1,2,3 * * *", "0 0 * * 0", "0 3 1 * *"]
)
around_changes = st.sampled_from(
    ["2024-03-31T00:00Z", "2024-10-26T20:00Z", "2024-03-10T00:00Z", "2024-11-03T00:00Z"]
).map(ms)
moments = st.one_of(st.integers(ms("2023-01-01T00:00Z"), ms("2025-12-31T00:00Z")), around_changes)


@given(
    crons,
    st.sampled_from([BERLIN, NEW_YORK, "UTC", "Australia/Lord_Howe"]),
    moments,
    st.integers(1, 50),
)
def test_firing_in_pieces_gives_the_same_times_as_firing_at_once(
    expression: str, zone: str, after: int, limit: int
) -> None:
    trigger, until = cron(expression, zone), after + DAY // 2
    at_once = due_firings(trigger, after, until, 10_000)
    pieces: list[int] = []
    watermark = after
    while found := due_firings(trigger, watermark, until, limit):
        pieces += found
        watermark = found[-1]
    assert pieces == at_once
    assert all(one < other for one, other in pairwise([after, *at_once]))
    assert all(time <= until for time in at_once)
