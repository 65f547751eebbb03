"""The fields of a date: reading and setting each of them, and the least and the largest value it can have."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from calve.workflow.sel.dates.instant import Instant, clamped, out_of_calendar
from calve.workflow.sel.errors import value_error

Getter = Callable[[datetime], int]
Setter = Callable[[datetime, int], datetime]
Range = Callable[[datetime], tuple[int, int]]

_DAY_MS = 86_400_000
MONTHS = tuple(calendar.month_name)
WEEKDAYS = ("", *calendar.day_name)


def day_millis(local: datetime) -> int:
    """Milliseconds since midnight, by the clock."""
    return ((local.hour * 60 + local.minute) * 60 + local.second) * 1000 + local.microsecond // 1000


def _set_day_millis(local: datetime, value: int) -> datetime:
    return datetime.combine(local.date(), datetime.min.time()) + timedelta(milliseconds=value)


def _weeks(year: int) -> int:
    return date(year, 12, 28).isocalendar().week


def _iso(local: datetime, year: int, week: int, weekday: int) -> datetime:
    return datetime.combine(date.fromisocalendar(year, week, weekday), local.time())


def _set_weekyear(local: datetime, year: int) -> datetime:
    _, week, weekday = local.isocalendar()
    return _iso(local, year, min(week, _weeks(year)), weekday)


@dataclass(frozen=True, slots=True)
class Field:
    """One field: how it is read, set and bounded."""

    name: str
    get: Getter
    set: Setter
    bounds: Range

    def with_value(self, instant: Instant, value: int) -> Instant:
        """The instant with this field set."""
        local = instant.local
        low, high = self.bounds(local)
        if not low <= value <= high:
            raise value_error(f"{self.name} is {value}, and must be from {low} to {high}")
        try:
            made = instant.with_local(self.set(local, value))
        except (ValueError, OverflowError):
            raise out_of_calendar() from None
        if self.get(made.local) != value:
            raise value_error(f"{self.name} cannot be {value}: the clock jumps over that time")
        return made

    def as_text(self, instant: Instant) -> str:
        """The value in English where it has a name."""
        value = self.get(instant.local)
        if self.name == "monthOfYear":
            return MONTHS[value]
        return WEEKDAYS[value] if self.name == "dayOfWeek" else str(value)


def _fixed(low: int, high: int) -> Range:
    return lambda _: (low, high)


_YEARS = _fixed(2, 9998)
_ALL = (
    Field("year", lambda t: t.year, lambda t, v: clamped(t, v, t.month), _YEARS),
    Field("weekyear", lambda t: t.isocalendar().year, _set_weekyear, _YEARS),
    Field("monthOfYear", lambda t: t.month, lambda t, v: clamped(t, t.year, v), _fixed(1, 12)),
    Field(
        "weekOfWeekyear",
        lambda t: t.isocalendar().week,
        lambda t, v: _iso(t, t.isocalendar().year, v, t.isoweekday()),
        lambda t: (1, _weeks(t.isocalendar().year)),
    ),
    Field(
        "dayOfYear",
        lambda t: t.timetuple().tm_yday,
        lambda t, v: t.replace(month=1, day=1) + timedelta(days=v - 1),
        lambda t: (1, 366 if calendar.isleap(t.year) else 365),
    ),
    Field(
        "dayOfMonth",
        lambda t: t.day,
        lambda t, v: t.replace(day=v),
        lambda t: (1, calendar.monthrange(t.year, t.month)[1]),
    ),
    Field(
        "dayOfWeek",
        lambda t: t.isoweekday(),
        lambda t, v: t + timedelta(days=v - t.isoweekday()),
        _fixed(1, 7),
    ),
    Field("hourOfDay", lambda t: t.hour, lambda t, v: t.replace(hour=v), _fixed(0, 23)),
    Field(
        "minuteOfDay",
        lambda t: t.hour * 60 + t.minute,
        lambda t, v: t.replace(hour=v // 60, minute=v % 60),
        _fixed(0, 1439),
    ),
    Field("minuteOfHour", lambda t: t.minute, lambda t, v: t.replace(minute=v), _fixed(0, 59)),
    Field(
        "secondOfDay",
        lambda t: day_millis(t) // 1000,
        lambda t, v: _set_day_millis(t, v * 1000 + t.microsecond // 1000),
        _fixed(0, 86_399),
    ),
    Field("secondOfMinute", lambda t: t.second, lambda t, v: t.replace(second=v), _fixed(0, 59)),
    Field("millisOfDay", day_millis, _set_day_millis, _fixed(0, _DAY_MS - 1)),
    Field(
        "millisOfSecond",
        lambda t: t.microsecond // 1000,
        lambda t, v: t.replace(microsecond=v * 1000),
        _fixed(0, 999),
    ),
)
FIELDS = {field.name: field for field in _ALL}


@dataclass(frozen=True, slots=True)
class Property:
    """A field of one instant."""

    field: Field
    instant: Instant

    def __str__(self) -> str:
        return f"Property[{self.field.name}]"
