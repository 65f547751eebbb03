"""Values of Iceberg's types as SQL literals.

A value comes in the JSON form that captures have (`calve.lake.values`), and is kept as a Python value while
it is compared: dates and times without a zone, of which those of `timestamptz` are in UTC.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Value = int | float | str | bool | date | datetime | Decimal | bytes

_SAFE = re.compile(r"[^'\\$\x00-\x1f\x7f]*")
_INTEGERS = {"int": "", "long": "L"}
_TIMES = {"timestamp": "TIMESTAMP_NTZ", "timestamptz": "TIMESTAMP"}
_TEXTS = ("string", "uuid")
_FLOATS = ("float", "double")
_DECIMAL = re.compile(r"decimal\(\s*\d+\s*,\s*\d+\s*\)")


def read_value(kind: str, raw: Any) -> Value | None:
    """A value of the JSON form; None where it has no literal: null, a time of day, a year past 9999."""
    try:
        return _read(kind, raw)
    except (ValueError, ArithmeticError):
        return None


def _read(kind: str, raw: Any) -> Value | None:
    if raw is None:
        return None
    if kind == "date":
        return date.fromisoformat(raw)
    if kind in _TIMES:
        return datetime.fromisoformat(raw).replace(tzinfo=None)
    if _DECIMAL.fullmatch(kind):
        return Decimal(str(raw))
    if kind == "binary" or kind.startswith("fixed"):
        return bytes.fromhex(raw)
    expected = _python_type(kind)
    return raw if expected is not None and isinstance(raw, expected) else None


def _python_type(kind: str) -> type[Any] | tuple[type[Any], ...] | None:
    if kind in _INTEGERS:
        return int
    if kind in _FLOATS:
        return (float, int)
    if kind in _TEXTS:
        return str
    return bool if kind == "boolean" else None


def is_nan(value: object) -> bool:
    """Whether a value is not a number: it is equal to nothing, and lies outside of all bounds."""
    return isinstance(value, float) and math.isnan(value)


def literal(kind: str, value: Value) -> str:
    """The value as Spark SQL reads it, whatever Spark's settings are."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return _time_literal(kind, value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, int) and kind in _INTEGERS:
        return f"{value}{_INTEGERS[kind]}"
    if isinstance(value, Decimal):
        return f"CAST('{value}' AS {kind.upper()})"
    return f"CAST('{float(value)!r}' AS {kind.upper()})"


def _time_literal(kind: str, value: datetime) -> str:
    zone = "+00:00" if kind == "timestamptz" else ""
    return f"{_TIMES[kind]} '{value.isoformat(sep=' ')}{zone}'"


def text_literal(text: str) -> str:
    """A text. What Spark may take for an escape, a variable or an end goes in as bytes."""
    if _SAFE.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode('utf-8', 'surrogatepass').hex().upper()}' AS STRING)"


def next_moment(kind: str, value: Value, transform: str) -> Value:
    """The first value after the year, month, day or hour that begins with `value`."""
    assert isinstance(value, date)
    if transform == "hour":
        return value + timedelta(hours=1)
    if transform == "day":
        return value + timedelta(days=1)
    if transform == "month" and value.month < 12:
        return value.replace(month=value.month + 1)
    return value.replace(year=value.year + 1, month=1)


def begin_of(kind: str, raw: str, transform: str) -> Value:
    """The first value of a partition of time in its readable form: 2024, 2024-02, 2024-02-03-04."""
    parts = [int(part) for part in raw.split("-")]
    moment = datetime(*(parts + [1, 1][len(parts) - 1 :])[:3], *parts[3:])  # type: ignore[arg-type]  # noqa: DTZ001
    return moment.date() if kind == "date" else moment


def floor_to(value: Value, transform: str) -> Value:
    """The first value of the year, month, day or hour that a value lies in."""
    assert isinstance(value, date)
    if isinstance(value, datetime):
        value = value.replace(minute=0, second=0, microsecond=0)
        if transform != "hour":
            value = value.replace(hour=0)
    if transform in ("month", "year"):
        value = value.replace(day=1)
    return value.replace(month=1) if transform == "year" else value
