from __future__ import annotations

import struct
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
)

from calve.lake.values import decode_bound, is_ordered, partition_json, to_json, transform_interval

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (BooleanType(), True),
        (BooleanType(), False),
        (IntegerType(), -5),
        (LongType(), 2**40),
        (FloatType(), 1.5),
        (DoubleType(), -2.25),
        (StringType(), "grüß"),
        (BinaryType(), b"\x00\xff"),
        (DecimalType(9, 2), Decimal("-12.34")),
    ],
)
def test_bounds_are_read_as_pyiceberg_writes_them(kind: PrimitiveType, value: Any) -> None:
    assert decode_bound(str(kind), to_bytes(kind, value)) == value


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("long", struct.pack("<i", -7), -7),
        ("double", struct.pack("<f", 0.5), 0.5),
        ("timestamp", struct.pack("<i", 2), 2 * DAY),
        ("timestamptz_ns", struct.pack("<i", 1), DAY * 1000),
    ],
)
def test_bounds_written_before_a_promotion_are_read(kind: str, data: bytes, expected: Any) -> None:
    assert decode_bound(kind, data) == expected


@given(st.datetimes())
def test_timestamps_are_shown_as_iso(moment: datetime) -> None:
    micros = (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert to_json("timestamp", micros) == moment.isoformat(timespec="microseconds")
    assert to_json("timestamptz", micros) == moment.isoformat(timespec="microseconds") + "+00:00"
    assert to_json("timestamp_ns", micros * 1000 + 7).endswith("007")


def test_other_types_are_shown_as_people_write_them() -> None:
    some = uuid.UUID("12345678-1234-5678-1234-567812345678")
    assert to_json("date", (date(2024, 2, 29) - date(1970, 1, 1)).days) == "2024-02-29"
    assert to_json("time", 3_600_000_001) == time(1, 0, 0, 1).isoformat("microseconds")
    assert to_json("uuid", some.bytes) == str(some)
    assert to_json("decimal(9, 2)", Decimal("1.50")) == "1.50"
    assert to_json("binary", b"\x00\xff") == "00ff"
    assert to_json("int", 3) == 3
    assert to_json("long", None) is None


def test_moments_beyond_the_calendar_do_not_fail() -> None:
    assert to_json("timestamp", 2**62) == f"{2**62} microseconds"
    assert to_json("date", 10**8) == "100000000 days"


@pytest.mark.parametrize(
    ("transform", "kind", "value", "expected"),
    [
        ("identity", "string", "a", ("a", "a")),
        ("day", "date", 10, (10, 10)),
        ("day", "timestamp", 1, (DAY, 2 * DAY - 1)),
        ("hour", "timestamptz", 1, (3_600_000_000, 7_200_000_000 - 1)),
        ("month", "date", 1, (31, 58)),
        ("year", "date", 54, (19723, 20088)),
        ("year", "timestamp_ns", 0, (0, 365 * DAY * 1000 - 1)),
        ("truncate[10]", "int", -10, (-10, -1)),
    ],
)
def test_a_partition_value_stands_for_an_interval(
    transform: str, kind: str, value: Any, expected: Any
) -> None:
    assert transform_interval(transform, kind, value) == expected


@pytest.mark.parametrize(
    ("transform", "kind"), [("bucket[4]", "int"), ("void", "int"), ("truncate[3]", "string")]
)
def test_some_partition_values_say_nothing_of_the_column(transform: str, kind: str) -> None:
    assert transform_interval(transform, kind, 1) is None


@pytest.mark.parametrize(
    ("transform", "kind", "value", "expected"),
    [
        ("year", "date", 54, "2024"),
        ("month", "date", 54 * 12 + 1, "2024-02"),
        ("day", "timestamp", 19782, "2024-02-29"),
        ("hour", "timestamp", 19782 * 24 + 5, "2024-02-29-05"),
        ("bucket[4]", "string", 3, 3),
        ("identity", "decimal(9, 2)", b"\x00\x7b", "1.23"),
        ("identity", "date", None, None),
        ("identity", {"type": "struct"}, "x", "x"),
    ],
)
def test_partitions_are_shown_readably(transform: str, kind: Any, value: Any, expected: Any) -> None:
    assert partition_json(transform, kind, value) == expected


def test_types_without_an_order_are_known() -> None:
    assert not any(map(is_ordered, ({"type": "list"}, "variant", "geometry", "unknown", None)))
    assert all(map(is_ordered, ("int", "decimal(9, 2)", "fixed[4]", "timestamptz", "uuid")))
