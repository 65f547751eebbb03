"""Methods of dates, zones, formatters, properties and days. Without a zone, a date is in UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from calve.workflow.sel import arguments as read
from calve.workflow.sel.dates.fields import FIELDS, Field, Property
from calve.workflow.sel.dates.instant import UNITS, Instant, days_between, from_local
from calve.workflow.sel.dates.patterns import Formatter
from calve.workflow.sel.dates.reading import read_iso
from calve.workflow.sel.dates.zones import UTC, Zone, zone_for
from calve.workflow.sel.errors import type_error, value_error
from calve.workflow.sel.methods.table import Method, Methods
from calve.workflow.sel.runtime import Runtime
from calve.workflow.sel.values import Boolean, Kind, Long, Opaque, Text, Value, check_same


def _of(kind: Kind, value: Value) -> Any:
    check_same(kind, value.kind)
    if value.value is None:
        raise value_error(f"the {kind.value} is null")
    return value.value


def instant(value: Value) -> Instant:
    """A date that is not null."""
    found: Instant = _of(Kind.DATETIME, value)
    return found


def zone(value: Value) -> Zone:
    """A zone that is not null."""
    found: Zone = _of(Kind.DATETIME_ZONE, value)
    return found


def formatter(value: Value) -> Formatter:
    """A formatter that is not null."""
    found: Formatter = _of(Kind.DATETIME_FORMATTER, value)
    return found


def date_value(run: Runtime, made: Instant) -> Value:
    """A date as a value."""
    return Opaque(run.meter, Kind.DATETIME, made)


def now(run: Runtime) -> Instant:
    """The present."""
    return Instant(run.host.now_ms(), UTC)


def new_date(run: Runtime, args: list[Value]) -> Value:
    """`new DateTime(…)`."""
    if len(args) == 8:
        numbers = [read.cut_integer(item) for item in args[:7]]
        return date_value(run, _from_fields(numbers, zone(args[7])))
    if len(args) > 2:
        raise type_error("a DateTime is made of nothing, (x), (x, zone) or seven numbers and a zone")
    seen = zone(args[1]) if len(args) == 2 else None
    return date_value(run, _converted(run, args[0], seen) if args else now(run))


def _from_fields(numbers: list[int], seen: Zone) -> Instant:
    year, month, day, hour, minute, second, milli = numbers
    try:
        local = datetime(year, month, day, hour, minute, second, milli * 1000)  # noqa: DTZ001 - a local time
    except ValueError as error:
        raise value_error(f"there is no such date: {error}") from None
    return from_local(local, seen)


def _converted(run: Runtime, value: Value, seen: Zone | None) -> Instant:
    if value.kind is Kind.LONG:
        return Instant(value.value, seen or UTC)
    if value.kind is Kind.STRING and value.value is not None:
        return read_iso(value.value, seen or UTC)
    if value.kind is Kind.DATETIME and value.value is not None:
        return Instant(value.value.millis, seen or value.value.zone)
    if value.value is None:
        return Instant(run.host.now_ms(), seen or UTC)
    raise type_error(f"a DateTime is made of a long, a string or a DateTime, found {value.kind.value}")


def _plus(unit: str, sign: int) -> Method:
    return lambda run, value, args: date_value(run, instant(value).plus(unit, sign * read.integer(args[0])))


def _get(field: Field) -> Method:
    return lambda run, value, _: Long(run.meter, field.get(instant(value).local))


def _with(field: Field) -> Method:
    return lambda run, value, args: date_value(run, field.with_value(instant(value), read.integer(args[0])))


def _property(field: Field) -> Method:
    return lambda run, value, _: Opaque(run.meter, Kind.DATETIME_PROPERTY, Property(field, instant(value)))


def _compare(holds: Callable[[int, int], bool]) -> Method:
    return lambda run, value, args: Boolean(run.meter, holds(instant(value).millis, instant(args[0]).millis))


def _in_zone(run: Runtime, value: Value, args: list[Value]) -> Value:
    return date_value(run, Instant(instant(value).millis, zone(args[0])))


def _start_of_day(run: Runtime, value: Value, _args: list[Value]) -> Value:
    found = instant(value)
    midnight = datetime.combine(found.local.date(), datetime.min.time())
    return date_value(run, Instant(found.zone.to_instant(midnight), found.zone))


def _parse(run: Runtime, _value: Value, args: list[Value]) -> Value:
    return date_value(run, formatter(args[1]).parse(read.text(args[0]), now(run).local.year))


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


_READ_ONLY = ("minuteOfDay", "secondOfDay")

DATETIME: Methods = {
    ("toString", 0): lambda run, value, _: Text(run.meter, str(instant(value))),
    ("toString", 1): lambda run, value, args: Text(
        run.meter, Formatter(read.text(args[0])).print(instant(value))
    ),
    ("parse", 2): _parse,
    ("withZone", 1): _in_zone,
    ("toDateTime", 1): _in_zone,
    ("withTimeAtStartOfDay", 0): _start_of_day,
    ("getMillis", 0): lambda run, value, _: Long(run.meter, instant(value).millis),
    ("isAfter", 1): _compare(lambda a, b: a > b),
    ("isBefore", 1): _compare(lambda a, b: a < b),
    ("isEqual", 1): _compare(lambda a, b: a == b),
    **{(f"plus{unit}", 1): _plus(unit, 1) for unit in UNITS},
    **{(f"minus{unit}", 1): _plus(unit, -1) for unit in UNITS},
    **{(f"get{_capital(name)}", 0): _get(field) for name, field in FIELDS.items()},
    **{
        (f"with{_capital(name)}", 1): _with(field) for name, field in FIELDS.items() if name not in _READ_ONLY
    },
    **{(name, 0): _property(field) for name, field in FIELDS.items() if name != "year"},
}


def _offset(run: Runtime, value: Value, args: list[Value]) -> Value:
    return Long(run.meter, zone(value).offset_at(instant(args[0]).millis))


ZONE: Methods = {
    ("forID", 1): lambda run, _, args: Opaque(run.meter, Kind.DATETIME_ZONE, zone_for(read.text(args[0]))),
    ("getOffset", 1): _offset,
}


def _for_pattern(run: Runtime, _value: Value, args: list[Value]) -> Value:
    made = Formatter(read.text(args[0]))
    made.print(Instant(0, UTC))  # a pattern that means nothing is refused here, not where it is used
    return Opaque(run.meter, Kind.DATETIME_FORMATTER, made)


def _with_zone(run: Runtime, value: Value, args: list[Value]) -> Value:
    made = Formatter(formatter(value).pattern, zone(args[0]))
    return Opaque(run.meter, Kind.DATETIME_FORMATTER, made)


def _print(run: Runtime, value: Value, args: list[Value]) -> Value:
    shown = Instant(args[0].value, UTC) if args[0].kind is Kind.LONG else instant(args[0])
    return Text(run.meter, formatter(value).print(shown))


def _parsed(run: Runtime, value: Value, text: str) -> Instant:
    return formatter(value).parse(text, now(run).local.year)


FORMATTER: Methods = {
    ("forPattern", 1): _for_pattern,
    ("withZone", 1): _with_zone,
    ("parseDateTime", 1): lambda run, value, args: date_value(
        run, _parsed(run, value, read.text_or_long(args[0]))
    ),
    ("parseMillis", 1): lambda run, value, args: Long(
        run.meter, _parsed(run, value, read.text(args[0])).millis
    ),
    ("print", 1): _print,
}


def _bound(side: int) -> Method:
    def method(run: Runtime, value: Value, _args: list[Value]) -> Value:
        found: Property = _of(Kind.DATETIME_PROPERTY, value)
        wanted = found.field.bounds(found.instant.local)[side]
        return date_value(run, found.field.with_value(found.instant, wanted))

    return method


def _property_of(value: Value) -> Property:
    found: Property = _of(Kind.DATETIME_PROPERTY, value)
    return found


PROPERTY: Methods = {
    ("get", 0): lambda run, value, _: Long(
        run.meter, _property_of(value).field.get(_property_of(value).instant.local)
    ),
    ("getAsText", 0): lambda run, value, _: Text(
        run.meter, _property_of(value).field.as_text(_property_of(value).instant)
    ),
    ("withMinimumValue", 0): _bound(0),
    ("withMaximumValue", 0): _bound(1),
}


def _days_between(run: Runtime, _value: Value, args: list[Value]) -> Value:
    return Opaque(run.meter, Kind.DATETIME_DAYS, days_between(instant(args[0]), instant(args[1])))


DAYS: Methods = {
    ("daysBetween", 2): _days_between,
    ("getDays", 0): lambda run, value, _: Long(run.meter, _of(Kind.DATETIME_DAYS, value)),
}
