"""Numbers and times as people read them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00)?")
#: What a moment outside of the years 1 to 9999 raises.
_NO_DATE = (OverflowError, ValueError, OSError)
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def duration(milliseconds: float | None) -> str:
    """A span of time in its two largest units; the second one is left out where it is zero."""
    if milliseconds is None:
        return "–"
    span = round(abs(milliseconds))
    if span < _SECOND:
        return f"{span} ms"
    if span < _MINUTE:
        return f"{span / _SECOND:.1f} s" if span < 10 * _SECOND else f"{span // _SECOND} s"
    if span < _HOUR:
        return _two(span, _MINUTE, "min", _SECOND, "s")
    if span < _DAY:
        return _two(span, _HOUR, "h", _MINUTE, "min")
    return _two(span, _DAY, "d", _HOUR, "h")


def _two(span: int, unit: int, name: str, smaller: int, small_name: str) -> str:
    rest = span % unit // smaller
    # Minutes and seconds stand below each other in columns.
    digits = 1 if unit == _DAY else 2
    return f"{span // unit} {name}" + (f" {rest:0{digits}d} {small_name}" if rest else "")


def elapsed(started_at: int | None, ended_at: int | None, now: int) -> int | None:
    """How long something took, or has taken up to now; None if it has not begun."""
    return None if started_at is None else (ended_at or now) - started_at


def ago(moment: int | None, now: int) -> str:
    """A moment as seen from now, in its largest unit."""
    if moment is None:
        return "–"
    span = abs(now - moment)
    if span < 5 * _SECOND:
        return "just now"
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (_SECOND, "s")):
        if span >= unit:
            text = f"{span // unit} {name}"
            return f"{text} ago" if moment < now else f"in {text}"
    return "just now"


def absolute(moment: int | None, zone: str = "UTC") -> str:
    """A moment to the second, in a zone."""
    if moment is None:
        return "–"
    try:
        at = datetime.fromtimestamp(moment / 1000, UTC).astimezone(zone_of(zone))
    except _NO_DATE:
        return f"{moment} ms"
    return at.strftime("%Y-%m-%d %H:%M:%S %Z")


def plain_stamp(value: object) -> str:
    """A value of a range; a timestamp without the parts that say nothing."""
    text = str(value)
    if not _STAMP.fullmatch(text):
        return text
    day, _, rest = text.partition("T")
    return f"{day} {rest.replace('.000000', '').replace('+00:00', ' UTC')}"


def iso(moment: int) -> str:
    """A moment as programs read it."""
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds")
    except _NO_DATE:
        return f"{moment} ms"


def zone_of(name: str) -> ZoneInfo:
    """A zone by its name; UTC for a name that is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def count(number: float | None) -> str:
    """A number with its thousands apart."""
    if number is None:
        return "–"
    return f"{number:,}" if isinstance(number, int) else f"{number:,.1f}"


def size(number: float | None) -> str:
    """An amount of bytes."""
    if number is None:
        return "–"
    amount = float(number)
    for unit in _UNITS:
        if abs(amount) < 1000 or unit == _UNITS[-1]:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return ""


def words(status: str | None) -> str:
    """A status or another constant in words: FATALLY_FAILED is fatally failed."""
    return (status or "").replace("_", " ").lower()
