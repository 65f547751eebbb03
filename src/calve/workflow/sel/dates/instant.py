"""An instant in a zone, and the arithmetic on it."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import datetime, timedelta

from calve.workflow.sel.dates.zones import EPOCH, Zone
from calve.workflow.sel.errors import SelError, value_error

#: A year after 1 and one before 9999, so that no zone moves an instant out of the calendar.
MIN_MILLIS = -62_103_628_800_000
MAX_MILLIS = 253_370_678_400_000


@dataclass(frozen=True, slots=True)
class Instant:
    """Milliseconds since 1970 in UTC, seen in a zone."""

    millis: int
    zone: Zone

    def __post_init__(self) -> None:
        if not MIN_MILLIS <= self.millis <= MAX_MILLIS:
            raise out_of_calendar()

    @property
    def local(self) -> datetime:
        """The local date and time."""
        return EPOCH + timedelta(0, 0, 0, self.millis + self.zone.offset_at(self.millis))

    def with_local(self, local: datetime) -> Instant:
        """The same zone at another local time; the offset is kept where the clock shows it twice."""
        return Instant(self.zone.to_instant(local, self.millis), self.zone)

    def plus(self, unit: str, amount: int) -> Instant:
        """Later by an amount of a unit: exact up to hours, by the calendar from days on."""
        if unit in _EXACT:
            return Instant(self.millis + amount * _EXACT[unit], self.zone)
        try:
            return Instant(self.zone.to_instant(_shifted(self.local, unit, amount)), self.zone)
        except (OverflowError, ValueError):
            raise out_of_calendar() from None

    def __str__(self) -> str:
        return f"{iso_local(self.local)}{offset_text(self.zone.offset_at(self.millis))}"


_EXACT = {"Millis": 1, "Seconds": 1000, "Minutes": 60_000, "Hours": 3_600_000}
UNITS = ("Years", "Months", "Weeks", "Days", *_EXACT)


def from_local(local: datetime, zone: Zone) -> Instant:
    """The instant of a local time that must exist."""
    made = Instant(zone.to_instant(local), zone)
    if made.local != local:
        raise value_error(f"{iso_local(local)} does not exist in {zone}: the clock jumps over it")
    return made


def _shifted(local: datetime, unit: str, amount: int) -> datetime:
    if unit == "Days":
        return local + timedelta(days=amount)
    if unit == "Weeks":
        return local + timedelta(weeks=amount)
    months = local.year * 12 + local.month - 1 + amount * (12 if unit == "Years" else 1)
    return clamped(local, months // 12, months % 12 + 1)


def clamped(local: datetime, year: int, month: int) -> datetime:
    """Another year and month; a day that the month does not have becomes its last."""
    if not 1 <= year <= 9999:
        raise out_of_calendar()
    return local.replace(year=year, month=month, day=min(local.day, calendar.monthrange(year, month)[1]))


def days_between(first: Instant, second: Instant) -> int:
    """Whole days from one instant to another, by the calendar of the first."""
    end = Instant(second.millis, first.zone).local
    span = end - first.local
    whole = abs(span) // timedelta(days=1)
    return whole if span >= timedelta(0) else -whole


def iso_local(local: datetime) -> str:
    """A local time as ISO 8601 with milliseconds."""
    return local.isoformat(timespec="milliseconds")


def offset_text(offset: int, colon: str = ":", zero: str = "Z") -> str:
    """An offset in milliseconds as ±hh:mm."""
    if offset == 0:
        return zero
    minutes, rest = divmod(abs(offset), 60_000)
    # Before there were time zones, clocks differed by seconds.
    seconds = f"{colon}{rest // 1000:02d}" if rest else ""
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02d}{colon}{minutes % 60:02d}{seconds}"


def out_of_calendar() -> SelError:
    """A date before the year 2 or after the year 9998."""
    return value_error("the date is outside the calendar, which goes from the year 2 to 9998")
