"""Durations and numbers that may be given as text, or by a param.

`30`, `"30"`, `"1d 2h 3min 4s 5ms"` (units in any order, long names too), or `"${param}"`, which is known
only when a run starts.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from calve.workflow.definition.base import refuse

MAX_TIMEOUT_MS = 120 * 86_400_000
DURATION_FORM = "a number of seconds, or a text such as '1d 2h 3min 4s 5ms'"

_UNITS = {
    "d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
    "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
    "m": 60_000, "min": 60_000, "minute": 60_000, "minutes": 60_000,
    "s": 1_000, "sec": 1_000, "second": 1_000, "seconds": 1_000,
    "ms": 1, "millisecond": 1, "milliseconds": 1,
}  # fmt: skip
_PART = re.compile(r"\s*(\d{1,18})\s*([a-z]+)", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,18}")


def needs_params(value: int | str) -> bool:
    """True if the value is known only after interpolation."""
    return isinstance(value, str) and "$" in value


def duration_ms(value: int | str) -> int:
    """The milliseconds of a duration after interpolation; DURATION_INVALID if it is none."""
    if isinstance(value, int):
        return value * 1_000
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return int(text) * 1_000
    total, end = 0, 0
    while (part := _PART.match(text, end)) is not None:
        unit = _UNITS.get(part[2].lower())
        if unit is None:
            break
        total, end = total + int(part[1]) * unit, part.end()
    if end == 0 or end != len(text):
        raise refuse("DURATION_INVALID", f"'{value}' is not a duration", expected=DURATION_FORM)
    return total


def timeout_ms(value: int | str) -> int:
    """The milliseconds of a timeout after interpolation: more than 0 and at most 120 days."""
    found = duration_ms(value)
    if not 0 < found <= MAX_TIMEOUT_MS:
        raise refuse(
            "DURATION_INVALID",
            f"a timeout of {value!r} is out of bounds",
            expected="more than 0, at most 120 days",
        )
    return found


def whole_number(value: int | str, low: int, high: int) -> int:
    """A number after interpolation, within its bounds."""
    text = str(value).strip()
    found = int(text) if _NUMBER.fullmatch(text) else None
    if found is None or not low <= found <= high:
        raise refuse(
            "NUMBER_INVALID", f"{value!r} is out of bounds", expected=f"a number from {low} to {high}"
        )
    return found


def seconds(value: int | str, low: int, high: int) -> int:
    """The whole seconds of a duration after interpolation, within its bounds."""
    found = duration_ms(value) // 1_000
    if not low <= found <= high:
        raise refuse("DURATION_INVALID", f"{value!r} is out of bounds", expected=f"{low} to {high} seconds")
    return found


def _number_or_text(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise refuse("DURATION_INVALID", f"{value!r} is neither a number nor a text", expected=DURATION_FORM)
    if isinstance(value, int) and value < 0:
        raise refuse("DURATION_INVALID", f"{value} is negative", expected="0 or more")
    return value


def _check_timeout(value: int | str) -> int | str:
    if not needs_params(value):
        timeout_ms(value)
    return value


#: A whole number or a text; what it may say depends on where it stands.
Parsable = Annotated[int | str, BeforeValidator(_number_or_text)]
Timeout = Annotated[Parsable, AfterValidator(_check_timeout)]
