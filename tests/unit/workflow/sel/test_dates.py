from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.workflow.sel import Host, SelError, evaluate

NOON = 1_704_110_400_000  # 2024-01-01T12:00:00Z


class Stopped(Host):
    def now_ms(self) -> int:
        return NOON

    def random(self) -> float:
        return 0.25

    def random_uuid(self) -> str:
        return "00000000-0000-4000-8000-000000000000"


def run(text: str) -> object:
    return evaluate(text, host=Stopped()).value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("new DateTime().toString()", "2024-01-01T12:00:00.000Z"),
        ("System.currentTimeMillis()", NOON),
        ("Math.random()", 0.25),
        ("UUID.randomUUID().toString()", "00000000-0000-4000-8000-000000000000"),
        ("Util.timeoutForDateIntDeadline(20240101, '1 day')", "43200000 milliseconds"),
        ("Util.timeoutForDateTimeDeadline(new DateTime(), '2 hours and 5 minutes')", "7500000 milliseconds"),
        ("Util.timeoutForDateIntDeadline(20231201, '1 day')", "0 milliseconds"),
        ("DateTimeConstants.SUNDAY", 7),
        ("DateTimeFormat.forPattern('yyMMdd').parseDateTime('991231').getYear()", 1999),
        ("DateTimeFormat.forPattern('yyMMdd').parseDateTime('241231').getYear()", 2024),
    ],
)
def test_the_present_comes_from_the_host(text: str, expected: object) -> None:
    assert run(text) == expected


def test_json_is_compact_and_in_the_order_of_a_hash_map() -> None:
    text = evaluate("Util.toJson(m)", {"m": {"a": [1, 2], "zeta": 1.5, "k": "ü\n"}}).value
    assert text == '{"zeta":1.5,"a":[1,2],"k":"ü\\n"}'
    assert json.loads(text) == {"a": [1, 2], "zeta": 1.5, "k": "ü\n"}


@given(
    st.datetimes(datetime(1980, 1, 1), datetime(2037, 12, 31)),  # noqa: DTZ001 - made aware below
    st.sampled_from(["UTC", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"]),
)
def test_printing_agrees_with_the_clock_of_python(moment: datetime, zone: str) -> None:
    aware = moment.replace(tzinfo=UTC, microsecond=0)
    millis = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    local = aware.astimezone(ZoneInfo(zone))
    text = (
        f"new DateTime({millis}, DateTimeZone.forID('{zone}')).toString('yyyy-MM-dd HH:mm:ss DDD xxxx ww e')"
    )
    assert evaluate(text).value == local.strftime("%Y-%m-%d %H:%M:%S %j %G %V %u")


@given(st.dates(datetime(1971, 1, 1).date(), datetime(2100, 1, 1).date()), st.integers(-400, 400))  # noqa: DTZ001
def test_date_ints_count_days(start: datetime, days: int) -> None:
    end = start + timedelta(days=days)
    assert run(f"Util.incrementDateInt({start:%Y%m%d}, {days})") == f"{end:%Y%m%d}"
    between = run(f"Util.dateIntsBetween({start:%Y%m%d}, {end:%Y%m%d}, 1)")
    assert isinstance(between, list)
    assert len(between) == max(days, 0)


@pytest.mark.parametrize(
    "text",
    [
        "new DateTime(9223372036854775807)",
        "new DateTime(0).plusYears(9000)",
        "new DateTime(0).minusMonths(2000000000)",
        "new DateTime(0).plusDays(2000000000)",
        "new DateTime(0).withYear(9999)",
        "new DateTime(0).withDayOfMonth(32)",
        "new DateTime('2024-03-10', DateTimeZone.forID('America/Los_Angeles')).withHourOfDay(2)",
        "new DateTime(1, 2, 3)",
        "DateTime d; d.getYear()",
        "DateTimeFormat.forPattern('yyyyMMdd').parseDateTime('99990101')",
        "Util.dateIntsBetween(20240101, 20240110, 0)",
        "Util.timeoutForDateTimeDeadline(new DateTime(), 'soon')",
    ],
)
def test_a_date_that_does_not_exist_is_an_error_and_no_crash(text: str) -> None:
    with pytest.raises(SelError) as caught:
        run(text)
    assert caught.value.code in ("SEL_VALUE", "SEL_TYPE")


def test_the_default_host_gives_the_real_present() -> None:
    assert abs(int(evaluate("System.currentTimeMillis()").value) - Host().now_ms()) < 60_000
    assert 0 <= evaluate("Math.random()").value < 1
    assert len(evaluate("UUID.randomUUID().toString()").value) == 36
