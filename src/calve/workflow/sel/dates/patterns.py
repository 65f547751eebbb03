"""Patterns like yyyy-MM-dd'T'HH:mm: printing an instant, and reading one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from calve.workflow.sel.dates import fields
from calve.workflow.sel.dates.instant import Instant, from_local, offset_text
from calve.workflow.sel.dates.reading import Found, Reader, number_reader, text_reader, to_local
from calve.workflow.sel.dates.zones import UTC, Zone, zone_for
from calve.workflow.sel.errors import SelError, value_error

_MAX_PATTERN = 512
_NUMERIC = frozenset("CxyYwkKhHmsSDdeM")
_HALVES = ("AM", "PM")


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a pattern: how it is printed, and how it is read."""

    #: Takes the instant and its local time, which is the same for all parts.
    show: Callable[[Instant, datetime], str]
    read: Reader


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> tuple[Part, ...]:
    """The parts of a pattern."""
    if not pattern or len(pattern) > _MAX_PATTERN:
        raise value_error(f"a date pattern has 1 to {_MAX_PATTERN} characters")
    tokens = list(_tokens(pattern))
    parts = []
    for index, (letter, text) in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ("", "")
        parts.append(_literal(text) if not letter else _field(letter, len(text), _is_numeric(following)))
    return tuple(parts)


def _tokens(pattern: str) -> list[tuple[str, str]]:
    """Runs of one letter as (letter, run), and all else as ("", text)."""
    made: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        start = at
        if character == "'":
            text, at = _quoted(pattern, at + 1)
            made.append(("", text))
        elif character.isascii() and character.isalpha():
            while at < len(pattern) and pattern[at] == character:
                at += 1
            made.append((character, pattern[start:at]))
        else:
            made.append(("", character))
            at += 1
    return made


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at : at + 1] == "'":
        return "'", at + 1
    text = ""
    while at < len(pattern):
        if pattern[at] != "'":
            text += pattern[at]
        elif pattern[at + 1 : at + 2] == "'":
            text += "'"
            at += 1
        else:
            return text, at + 1
        at += 1
    return text, at


def _is_numeric(token: tuple[str, str]) -> bool:
    letter, text = token
    return letter in _NUMERIC and letter != "" and not (letter == "M" and len(text) > 2)


def _literal(text: str) -> Part:
    def read(source: str, at: int, _found: Found) -> int:
        return at + len(text) if source[at : at + len(text)].lower() == text.lower() else -1

    return Part(lambda _instant, _local: text, read)


def _number(
    name: str, least: int, most: int, get: Callable[[datetime], int], *, signed: bool = False
) -> Part:
    def show(_instant: Instant, local: datetime) -> str:
        value = get(local)
        return f"{'-' if value < 0 else ''}{abs(value):0{least}d}"

    return Part(show, number_reader(name, most, signed=signed))


_SIMPLE: dict[str, tuple[str, int, Callable[[datetime], int]]] = {
    "d": ("dayOfMonth", 2, lambda t: t.day),
    "D": ("dayOfYear", 3, lambda t: t.timetuple().tm_yday),
    "e": ("dayOfWeek", 1, lambda t: t.isoweekday()),
    "w": ("weekOfWeekyear", 2, lambda t: t.isocalendar().week),
    "H": ("hourOfDay", 2, lambda t: t.hour),
    "k": ("clockhourOfDay", 2, lambda t: t.hour or 24),
    "K": ("hourOfHalfday", 2, lambda t: t.hour % 12),
    "h": ("clockhourOfHalfday", 2, lambda t: t.hour % 12 or 12),
    "m": ("minuteOfHour", 2, lambda t: t.minute),
    "s": ("secondOfMinute", 2, lambda t: t.second),
    "C": ("centuryOfEra", 9, lambda t: t.year // 100),
}


def _field(letter: str, width: int, number_follows: bool) -> Part:
    if letter in _SIMPLE:
        name, most, get = _SIMPLE[letter]
        return _number(name, width, most, get)
    if letter in "yYx":
        return _year(letter, width, number_follows)
    if letter == "M" and width < 3:
        return _number("monthOfYear", width, 2, lambda t: t.month)
    if letter == "S":
        return _fraction(width)
    if letter in "zZ":
        return _zone(letter, width)
    if letter in _TEXTS:
        name, values, get = _TEXTS[letter]
        return _text(name, values, get, short=width < 4)
    raise value_error(f"'{letter}' means nothing in a date pattern", "Put text into single quotes.")


_TEXTS: dict[str, tuple[str, tuple[str, ...], Callable[[datetime], int]]] = {
    "M": ("monthOfYear", fields.MONTHS, lambda t: t.month),
    "E": ("dayOfWeek", fields.WEEKDAYS, lambda t: t.isoweekday()),
    "a": ("halfdayOfDay", _HALVES, lambda t: t.hour // 12),
    "G": ("era", ("BC", "AD"), lambda _: 1),
}


def _text(name: str, values: tuple[str, ...], get: Callable[[datetime], int], *, short: bool) -> Part:
    shown = tuple(value[:3] for value in values) if short else values
    return Part(lambda _, local: shown[get(local)], text_reader(name, values))


def _year(letter: str, width: int, number_follows: bool) -> Part:
    name = "weekyear" if letter == "x" else "year"
    get = fields.FIELDS[name].get
    most = width if number_follows else 9
    if width != 2:
        return _number(name, width, most, get, signed=letter != "Y")
    read = number_reader("twoDigitYear" if name == "year" else name, 2 if number_follows else 9, signed=False)
    return Part(lambda _, local: f"{get(local) % 100:02d}", read)


def _fraction(width: int) -> Part:
    def read(source: str, at: int, found: Found) -> int:
        end = at
        while end < len(source) and end - at < width and source[end].isascii() and source[end].isdigit():
            end += 1
        if end == at:
            return -1
        found["millisOfSecond"] = int(source[at:end][:3].ljust(3, "0"))
        return end

    return Part(lambda _, local: f"{local.microsecond // 1000:03d}".ljust(width, "0")[:width], read)


def _zone(letter: str, width: int) -> Part:
    def show(instant: Instant, _local: datetime) -> str:
        if letter == "z" or width > 2:
            return _zone_name(instant) if letter == "z" else instant.zone.id
        colon = ":" if width == 2 else ""
        offset = instant.zone.offset_at(instant.millis)
        return offset_text(offset, colon, f"+00{colon}00")

    def read(source: str, at: int, found: Found) -> int:
        end = at
        while end < len(source) and (source[end].isalnum() or source[end] in "+-/_:"):
            end += 1
        if end == at:
            return -1
        found["zone" if letter == "z" or width > 2 else "offset"] = zone_for(source[at:end])
        return end

    return Part(show, read)


def _zone_name(instant: Instant) -> str:
    utc = datetime(1970, 1, 1, tzinfo=UTC.tz) + timedelta(milliseconds=instant.millis)
    return utc.astimezone(instant.zone.tz).tzname() or instant.zone.id


@dataclass(frozen=True, slots=True)
class Formatter:
    """A pattern, and the zone that it prints and reads in."""

    pattern: str
    zone: Zone | None = None

    def print(self, instant: Instant) -> str:
        """An instant as text; in the formatter's zone if it has one."""
        seen = instant if self.zone is None else Instant(instant.millis, self.zone)
        local = seen.local
        return "".join([part.show(seen, local) for part in compile_pattern(self.pattern)])

    def parse(self, text: str, this_year: int) -> Instant:
        """The instant that a text is; what the pattern does not name is the beginning of 1970."""
        found: Found = {}
        at = 0
        for part in compile_pattern(self.pattern):
            at = part.read(text, at, found)
            if at < 0:
                raise self._invalid(text)
        if at != len(text):
            raise self._invalid(text)
        local = to_local(found, this_year)
        named, offset = found.get("zone"), found.get("offset")
        written = named if isinstance(named, Zone) else offset if isinstance(offset, Zone) else None
        zone = self.zone or (named if isinstance(named, Zone) else UTC)
        return Instant(from_local(local, written or zone).millis, zone)

    def _invalid(self, text: str) -> SelError:
        return value_error(f"'{text[:40]}' is not a date of the pattern {self.pattern}")
