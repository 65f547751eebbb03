"""Bounds of a range: from what people and JSON write to values of the column, and on into SQL."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from calve.errors import UsageError
from calve.lake.metadata import find_column
from calve.lake.model import RangeColumn
from calve.lake.time_columns import is_day_number, is_timestamp
from calve.lake.values import to_json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_BITS = {"int": 31, "long": 63}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NANOS = re.compile(r"(\.\d{6})(\d{1,3})(?!\d)")
_DAY_NUMBER = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_BOOLEANS = {"true": True, "false": False}
_EXAMPLES = {
    "date": "2024-01-31",
    "time": "23:59:00",
    "boolean": "true",
    "string": "some text",
    "uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
}


def parse_bound(column: RangeColumn, value: Any) -> Any:
    """A bound as a value that can be compared with the column's; None stays None.

    Raises RANGE_VALUE_INVALID, with an example of what is expected.
    """
    if value is None:
        return None
    try:
        return _parser(column)(value)
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise UsageError(
            "RANGE_VALUE_INVALID",
            f"{value!r} is not a value of column {column.name!r}, which is of type {column.type}",
            f"give a value such as {_example(column)}",
        ) from error


def parse_range(column: RangeColumn, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Both bounds of a half-open range. Raises RANGE_VALUE_INVALID, RANGE_EMPTY or RANGE_REVERSED."""
    low, high = parse_bound(column, lower), parse_bound(column, upper)
    if low is None or high is None or low < high:
        return low, high
    if low == high:
        raise UsageError(
            "RANGE_EMPTY",
            f"no value of column {column.name!r} lies from {lower!r} to before {upper!r}",
            "the upper bound is exclusive: give the first value that is not wanted any more",
        )
    raise UsageError(
        "RANGE_REVERSED",
        f"{lower!r}, the lower bound of column {column.name!r}, comes after {upper!r}, the upper one",
        "exchange the two bounds",
    )


def _example(column: RangeColumn) -> str:
    if is_day_number(column):
        return "20240131"
    if is_timestamp(column):
        zone = "+00:00" if column.type.startswith("timestamptz") else ""
        return f"2024-01-31T12:00:00{zone} or 2024-01-31"
    if column.type.startswith("decimal"):
        return "12.50"
    return _EXAMPLES.get(column.type) or ("00ff" if column.type.startswith(("binary", "fixed")) else "42")


def _parser(column: RangeColumn) -> Callable[[Any], Any]:
    if is_day_number(column):
        return _parse_day_number
    if is_timestamp(column):
        return lambda value: _parse_timestamp(column.type, value)
    if column.type in _BITS:
        return lambda value: _parse_integer(value, _BITS[column.type])
    if column.type.startswith("decimal"):
        return lambda value: Decimal(str(_no_boolean(value)))
    return _PARSERS.get(column.type) or _parse_bytes


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("expected text")
    return value


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError("expected a number")
    return value


def _parse_integer(value: Any, bits: int) -> int:
    number = int(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool) or not -(2**bits) <= number < 2**bits:
        raise ValueError("expected a whole number that fits")
    return number


def _parse_day_number(value: Any) -> int:
    """20240131 as a number or as text, or a date. A number that is no day is a bound all the same."""
    if isinstance(value, str):
        parts = _DAY_NUMBER.fullmatch(value)
        if parts is None:
            raise ValueError("expected a day")
        year, month, day = map(int, parts.groups())
        return int(date(year, month, day).strftime("%Y%m%d"))
    return _parse_integer(value, _BITS["int"])


def _parse_float(value: Any) -> float:
    number = float(_no_boolean(value))
    if number != number:
        raise ValueError("NaN has no place in an order")
    return number


def _parse_boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else _BOOLEANS[_text(value).lower()]


def _parse_date(value: Any) -> int:
    return (date.fromisoformat(_text(value)) - _EPOCH.date()).days


def _parse_time(value: Any) -> int:
    moment = datetime.fromisoformat(f"1970-01-01T{_text(value)}+00:00")
    return (moment - _EPOCH) // _MICRO


def _parse_timestamp(type_name: str, value: Any) -> int:
    text, rest = _text(value), 0
    nanos = type_name.endswith("_ns")
    found = _NANOS.search(text)
    if found is not None:
        text = _NANOS.sub(r"\1", text)
        rest = int(found[2].ljust(3, "0"))
        if rest and not nanos:
            raise ValueError("expected microseconds at most")
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None and not type_name.startswith("timestamptz"):
        raise ValueError("the column has no time zone")
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    micros = (moment - _EPOCH) // _MICRO
    return micros * 1000 + rest if nanos else micros


def _parse_bytes(value: Any) -> bytes:
    return bytes.fromhex(_text(value))


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "date": _parse_date,
    "time": _parse_time,
    "boolean": _parse_boolean,
    "float": _parse_float,
    "double": _parse_float,
    "string": _text,
    "uuid": lambda value: uuid.UUID(_text(value)).bytes,
}


# Into SQL


def range_condition(schema: Mapping[str, Any], column: RangeColumn, lower: Any, upper: Any) -> str:
    """The SQL condition for [lower, upper), both given as values of the column; nulls never meet it."""
    name = _quote_path(schema, column.name)
    parts = []
    if lower is not None:
        parts.append(f"{name} >= {_literal(column.type, lower)}")
    if upper is not None:
        parts.append(f"{name} < {_literal(column.type, upper)}")
    return " AND ".join(parts) or f"{name} IS NOT NULL"


def _quote_path(schema: Mapping[str, Any], path: str) -> str:
    """A column or a field inside structs, as SQL names it."""
    at = -1
    while find_column(schema, path) is None and (at := path.find(".", at + 1)) >= 0:
        # A name may have dots of its own, so every split is tried.
        outer = find_column(schema, path[:at])
        if outer is not None:
            return f"{_quote(path[:at])}.{_quote_path(outer['type'], path[at + 1 :])}"
    return _quote(path)


def _quote(name: str) -> str:
    """Quoted only where it must be: a backtick means something in a shell."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _literal(type_name: str, value: Any) -> str:
    shown: Any = to_json(type_name, value)
    if type_name in ("date", "time"):
        return f"{type_name.upper()} '{shown}'"
    if type_name.startswith("timestamp"):
        # Without a zone Spark's TIMESTAMP would mean a moment in the zone of the session.
        kind = "TIMESTAMP" if type_name.startswith("timestamptz") else "TIMESTAMP_NTZ"
        return f"{kind} '{shown}'"
    if type_name in ("string", "uuid"):
        return "'" + str(shown).replace("\\", "\\\\").replace("'", "\\'") + "'"
    if type_name in ("float", "double"):
        return f"CAST('{shown}' AS {type_name.upper()})"
    if type_name.startswith("decimal"):
        return f"{shown}BD"
    if type_name.startswith(("binary", "fixed")):
        return f"X'{shown}'"
    return f"{shown}L" if type_name == "long" else str(shown).upper()
