"""The class `Util`: dates as numbers, ranges, deadlines, JSON."""

from __future__ import annotations

import json
import re

from calve.workflow.sel import arguments as read
from calve.workflow.sel.boxing import unbox
from calve.workflow.sel.dates.instant import Instant, days_between
from calve.workflow.sel.dates.patterns import Formatter
from calve.workflow.sel.dates.zones import UTC, zone_for
from calve.workflow.sel.errors import value_error
from calve.workflow.sel.methods.dates import instant, now
from calve.workflow.sel.methods.table import Methods
from calve.workflow.sel.runtime import Runtime
from calve.workflow.sel.values import Array, Kind, Long, Text, Value, wrap_int

_DATE_INT = Formatter("yyyyMMdd", UTC)
_DURATION_PART = re.compile(r"(\d{1,9}) (week|day|hour|minute|second|millisecond)s?")
_UNIT_MS = {
    "week": 604_800_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1000,
    "millisecond": 1,
}


def _date(run: Runtime, value: Value) -> Instant:
    return _DATE_INT.parse(read.text_or_long(value), now(run).local.year)


def _date_to_ts(run: Runtime, _value: Value, args: list[Value]) -> Value:
    return Long(run.meter, _date(run, args[0]).millis)


def _ts_to_date(run: Runtime, _value: Value, args: list[Value]) -> Value:
    return Text(run.meter, _DATE_INT.print(Instant(read.long_or_text(args[0]), UTC)))


def _increment(run: Runtime, _value: Value, args: list[Value]) -> Value:
    return Text(run.meter, _DATE_INT.print(_date(run, args[0]).plus("Days", read.cut_integer(args[1]))))


def _date_hour_to_ts(run: Runtime, _value: Value, args: list[Value]) -> Value:
    date, hour, zone = (read.text_or_long(item) for item in args[:3])
    days, hours = (wrap_int(read.long_or_text(item)) for item in args[3:])
    start = Formatter("yyyyMMddHH", zone_for(zone)).parse(date + hour, now(run).local.year)
    return Long(run.meter, start.plus("Days", -days).plus("Hours", -hours).millis)


def _longs(run: Runtime, numbers: range | list[int]) -> Value:
    # Arrays made here are bounded by memory and time, not by the limit on `new` arrays.
    run.meter.charge_objects(len(numbers))
    run.meter.visit(len(numbers))
    return Array(run.meter, Kind.LONG_ARRAY, [_precharged(number) for number in numbers])


def _precharged(number: int) -> Long:
    made = Long.__new__(Long)
    made.kind = Kind.LONG
    made.value = number
    return made


def _ints_between(run: Runtime, _value: Value, args: list[Value]) -> Value:
    first, last, step = (wrap_int(read.long_or_text(item)) for item in args)
    return _longs(run, range(first, last, step) if step else [])


def _dates_between(run: Runtime, _value: Value, args: list[Value]) -> Value:
    step = wrap_int(read.long_or_text(args[2]))
    if step == 0:
        raise value_error("the increment of dateIntsBetween is 0")
    start, end = (_date(run, item) for item in (args[:2] if step > 0 else args[1::-1]))
    offsets = range(0, days_between(start, end), abs(step))
    run.meter.charge_objects(len(offsets))
    dates = []
    for offset in offsets:
        run.meter.visit(8)
        dates.append(int(_DATE_INT.print(start.plus("Days", offset))))
    return _longs(run, dates if step > 0 else dates[::-1])


def _timeout(run: Runtime, deadline_from: Instant, duration: str) -> Value:
    left = deadline_from.millis + _duration(duration) - run.host.now_ms()
    return Text(run.meter, f"{max(left, 0)} milliseconds")


def _duration(text: str) -> int:
    parts = re.split(r"\s*,\s*and\s+|\s*,\s*|\s+and\s+", text.strip()) if len(text) < 200 else []
    total = 0
    for part in parts:
        found = _DURATION_PART.fullmatch(part)
        if found is None:
            total = -1
            break
        total += int(found[1]) * _UNIT_MS[found[2]]
    if not parts or total < 0:
        raise value_error(f"'{text[:40]}' is not a duration", "Write it like: 1 day, 2 hours and 30 minutes.")
    return total


def _to_json(run: Runtime, _value: Value, args: list[Value]) -> Value:
    plain = None if args[0].kind is Kind.NULL else unbox(run.meter, args[0])
    made = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return Text(run.meter, made)


METHODS: Methods = {
    ("dateIntToTs", 1): _date_to_ts,
    ("tsToDateInt", 1): _ts_to_date,
    ("incrementDateInt", 2): _increment,
    ("dateIntHourToTs", 5): _date_hour_to_ts,
    ("dateIntsBetween", 3): _dates_between,
    ("intsBetween", 3): _ints_between,
    ("timeoutForDateTimeDeadline", 2): lambda run, _, args: _timeout(
        run, instant(args[0]), read.text(args[1])
    ),
    ("timeoutForDateIntDeadline", 2): lambda run, _, args: _timeout(
        run, _date(run, args[0]), read.text(args[1])
    ),
    ("toJson", 1): _to_json,
}
