"""Reading dates: the fields that were found in a text become a local time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from calve.workflow.sel.dates.instant import Instant, from_local, out_of_calendar
from calve.workflow.sel.dates.zones import Zone, zone_for
from calve.workflow.sel.errors import value_error

#: The fields that were read so far, by name; `offset` and `zone` are Zones, all others are numbers.
Found = dict[str, "int | Zone"]
#: Reads from a place in a text, and gives the place after it, or -1.
Reader = Callable[[str, int, Found], int]

_SHORT = 3
_PIVOT_SPAN = 50
_PIVOT_BACK = 30
_YEARLESS = {"monthOfYear", "dayOfMonth", "dayOfYear", "dayOfWeek", "weekOfWeekyear"}


def number_reader(name: str, most: int, *, signed: bool) -> Reader:
    """Reads a number of at most `most` digits."""

    def read(source: str, at: int, found: Found) -> int:
        start = at
        negative = signed and source[at : at + 1] == "-"
        if signed and source[at : at + 1] in ("-", "+") and source[at : at + 1]:
            at += 1
        end = at
        while end < len(source) and end - at < most and source[end].isascii() and source[end].isdigit():
            end += 1
        if end == at:
            return -1
        value = int(source[at:end])
        key = "year" if name == "twoDigitYear" and end - start != 2 else name
        found[key] = -value if negative else value
        return end

    return read


def text_reader(name: str, values: tuple[str, ...]) -> Reader:
    """Reads a name of a month, a weekday and so on, in full or short, in any case."""

    def read(source: str, at: int, found: Found) -> int:
        for width in (None, _SHORT):
            for index, value in enumerate(values):
                wanted = value[:width].lower()
                if wanted and source[at : at + len(wanted)].lower() == wanted:
                    found[name] = index
                    return at + len(wanted)
        return -1

    return read


def to_local(found: Found, this_year: int) -> datetime:
    """The local time of what was read; what was not read is the beginning of 1970."""
    numbers = {name: value for name, value in found.items() if isinstance(value, int)}
    try:
        return datetime.combine(_date(numbers, this_year), datetime.min.time()) + timedelta(
            hours=_hour(numbers),
            minutes=_checked(numbers, "minuteOfHour", 0, 59),
            seconds=_checked(numbers, "secondOfMinute", 0, 59),
            milliseconds=numbers.get("millisOfSecond", 0),
        )
    except (ValueError, OverflowError):
        raise value_error("the date has a day, a month or a year that does not exist") from None


def _date(numbers: dict[str, int], this_year: int) -> date:
    # A date without a year is in a leap year; a time without a date is on the first day of all.
    year = numbers.get("year", 2000 if _YEARLESS & numbers.keys() else 1970)
    if "twoDigitYear" in numbers:
        first = this_year - _PIVOT_BACK - _PIVOT_SPAN
        year = first + (numbers["twoDigitYear"] - first) % 100
    if not 1 < year < 9999:
        raise out_of_calendar()
    if "weekyear" in numbers or "weekOfWeekyear" in numbers:
        return date.fromisocalendar(
            numbers.get("weekyear", year), numbers.get("weekOfWeekyear", 1), numbers.get("dayOfWeek", 1)
        )
    if "dayOfYear" in numbers:
        leap = date(year, 12, 31).timetuple().tm_yday
        return date(year, 1, 1) + timedelta(days=_checked(numbers, "dayOfYear", 1, leap) - 1)
    return date(year, numbers.get("monthOfYear", 1), numbers.get("dayOfMonth", 1))


def _hour(numbers: dict[str, int]) -> int:
    half = 12 * numbers.get("halfdayOfDay", 0)
    if "clockhourOfHalfday" in numbers:
        return _checked(numbers, "clockhourOfHalfday", 1, 12) % 12 + half
    if "hourOfHalfday" in numbers:
        return _checked(numbers, "hourOfHalfday", 0, 11) + half
    if "clockhourOfDay" in numbers:
        return _checked(numbers, "clockhourOfDay", 1, 24) % 24
    return _checked(numbers, "hourOfDay", 0, 23) if "hourOfDay" in numbers else half


def _checked(numbers: dict[str, int], name: str, low: int, high: int) -> int:
    value = numbers.get(name, low)
    if not low <= value <= high:
        raise value_error(f"{name} is {value}, and must be from {low} to {high}")
    return value


_ISO = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?|-W(\d{1,2})(?:-([1-7]))?|-(\d{3}))?"
    r"(?:T(?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?"
)
_ISO_FIELDS = (
    "year",
    "monthOfYear",
    "dayOfMonth",
    "weekOfWeekyear",
    "dayOfWeek",
    "dayOfYear",
    "hourOfDay",
    "minuteOfHour",
    "secondOfMinute",
)


def read_iso(text: str, zone: Zone) -> Instant:
    """The instant that an ISO 8601 text is, seen in `zone`, which also holds where the text has no offset."""
    matched = _ISO.fullmatch(text)
    if matched is None or not text.isascii():
        raise value_error(f"'{text[:40]}' is not an ISO 8601 date", "Write it like 2024-01-31T10:00:00Z.")
    found: Found = {
        name: int(digits)
        for name, digits in zip(_ISO_FIELDS, matched.groups(), strict=False)
        if digits is not None
    }
    if "weekOfWeekyear" in found:
        found["weekyear"] = found["year"]
    if matched[10] is not None:
        found["millisOfSecond"] = int(matched[10][:3].ljust(3, "0"))
    local = to_local(found, this_year=0)
    if matched[11] is None:
        return from_local(local, zone)
    return Instant(from_local(local, zone_for(matched[11])).millis, zone)
