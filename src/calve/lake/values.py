"""Single values of Iceberg's types: from bounds and partitions, and into JSON."""

from __future__ import annotations

import struct
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps without a zone are what it is for
_DAY_MICROS = 86_400_000_000
_INTEGRAL = {"int", "long", "date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"}
#: Types whose values have an order that file statistics follow.
ORDERED = _INTEGRAL | {"boolean", "float", "double", "string", "binary", "uuid"}
#: Types whose bounds writers cut short, so that a bound need not be a value.
TRUNCATED = {"string", "binary"}


def is_ordered(type_name: Any) -> bool:
    """Whether a column of this type has a lower and an upper bound."""
    return isinstance(type_name, str) and (type_name in ORDERED or type_name.startswith(("decimal", "fixed")))


def is_truncated(type_name: str) -> bool:
    """Whether bounds of this type may be wider than the values."""
    return type_name in TRUNCATED or type_name.startswith("fixed")


def decode_bound(type_name: str, data: bytes) -> Any:
    """A bound in Iceberg's binary form as a comparable value.

    A file keeps the type it was written with, so narrower bytes than the column's type are fine:
    an int under a long, a float under a double, a date under a timestamp.
    """
    if type_name in _INTEGRAL:
        number = int.from_bytes(data, "little", signed=True)
        if len(data) == 4 and type_name.startswith("timestamp"):
            return number * _DAY_MICROS * (1000 if type_name.endswith("_ns") else 1)
        return number
    if type_name in ("float", "double"):
        return struct.unpack("<f" if len(data) == 4 else "<d", data)[0]
    if type_name == "boolean":
        return data != b"\x00"
    if type_name == "string":
        return data.decode(errors="replace")
    if type_name.startswith("decimal"):
        return _decimal(type_name, data)
    return bytes(data)


def _decimal(type_name: str, data: bytes) -> Decimal:
    scale = int(type_name.rstrip(")").split(",")[1])
    return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale)


def from_avro(type_name: str, value: Any) -> Any:
    """A partition value as Avro stores it, as a comparable value of its type."""
    return (
        _decimal(type_name, value) if isinstance(value, bytes) and type_name.startswith("decimal") else value
    )


def to_json(type_name: str, value: Any) -> Any:
    """A comparable value as JSON shows it: ISO dates and times, numbers, text, hex for bytes."""
    if value is None or type_name in ("int", "long", "float", "double", "boolean", "string"):
        return value
    if type_name == "date":
        return _iso(value * _DAY_MICROS)[:10] if -719162 <= value <= 2932896 else f"{value} days"
    if type_name == "time":
        return (_EPOCH + timedelta(microseconds=value)).time().isoformat("microseconds")
    if type_name.startswith("timestamp"):
        return _timestamp_json(type_name, value)
    if type_name == "uuid":
        return str(uuid.UUID(bytes=value))
    return str(value) if isinstance(value, Decimal) else value.hex()


def _timestamp_json(type_name: str, value: int) -> str:
    nanos = type_name.endswith("_ns")
    micros, rest = divmod(value, 1000) if nanos else (value, 0)
    text = _iso(micros) + (f"{rest:03d}" if nanos else "")
    return text + ("+00:00" if type_name.startswith("timestamptz") else "")


def _iso(micros: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds")
    except OverflowError:
        # Years beyond 9999 have no ISO text in Python; the number is still right.
        return f"{micros} microseconds"


def transform_interval(transform: str, source_type: str, value: Any) -> tuple[Any, Any] | None:
    """The closed interval of source values behind a partition value; None where there is none."""
    if transform == "identity":
        return value, value
    if transform in ("year", "month", "day", "hour"):
        return _time_interval(transform, source_type, value)
    if transform.startswith("truncate") and source_type in ("int", "long"):
        width = int(transform.split("[")[1].rstrip("]"))
        return value, value + width - 1
    return None


def _time_interval(transform: str, source_type: str, value: int) -> tuple[int, int]:
    if transform in ("year", "month"):
        months = value * 12 if transform == "year" else value
        span = 12 if transform == "year" else 1
        first_day, next_day = _month_start(months), _month_start(months + span)
    else:
        first_day, next_day = value, value + 1
    if transform == "hour":
        micros = (value * 3_600_000_000, (value + 1) * 3_600_000_000 - 1)
    elif source_type == "date":
        return first_day, next_day - 1
    else:
        micros = (first_day * _DAY_MICROS, next_day * _DAY_MICROS - 1)
    return (micros[0] * 1000, micros[1] * 1000 + 999) if source_type.endswith("_ns") else micros


def _month_start(months: int) -> int:
    year, month = divmod(months, 12)
    return (date(1970 + year, month + 1, 1) - date(1970, 1, 1)).days


def partition_json(transform: str, source_type: Any, value: Any) -> Any:
    """A partition value as people write it: 2024-02 for a month, the value itself for identity."""
    if value is None or transform.startswith("bucket"):
        return value
    if transform == "year":
        return str(1970 + value)
    if transform == "month":
        return f"{1970 + value // 12:04d}-{value % 12 + 1:02d}"
    if transform == "day":
        return to_json("date", value)
    if transform == "hour":
        return datetime.fromtimestamp(value * 3600, UTC).strftime("%Y-%m-%d-%H")
    if not isinstance(source_type, str):
        return value
    return to_json(source_type, from_avro(source_type, value))
