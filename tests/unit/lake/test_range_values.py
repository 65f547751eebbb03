"""Bounds of ranges: what people write, as values and as SQL."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.errors import UsageError
from calve.lake.model import RangeColumn
from calve.lake.range_values import parse_bound, parse_range, range_condition
from calve.lake.values import to_json

MICROS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "string": st.text(),
    "date": st.integers(-719162, 2932896),
    "time": st.integers(0, 86_399_999_999),
    "timestamp": MICROS,
    "timestamptz": MICROS,
    "timestamp_ns": st.integers(-(2**60), 2**60),
    "timestamptz_ns": st.integers(-(2**60), 2**60),
    "decimal(38, 4)": st.decimals(allow_nan=False, allow_infinity=False, places=4),
    "uuid": st.binary(min_size=16, max_size=16),
    "binary": st.binary(),
    "fixed[4]": st.binary(min_size=4, max_size=4),
}


def column(kind: str, name: str = "c") -> RangeColumn:
    return RangeColumn(name, 1, kind, None)


@given(st.sampled_from(sorted(VALUES)).flatmap(lambda kind: st.tuples(st.just(kind), VALUES[kind])))
def test_a_bound_is_read_as_ranges_show_it(case: tuple[str, Any]) -> None:
    kind, value = case
    assert parse_bound(column(kind), to_json(kind, value)) == value


@pytest.mark.parametrize(
    ("kind", "name", "given", "same_as"),
    [
        ("timestamp", "at", "2024-01-31", "2024-01-31T00:00:00"),
        ("timestamp", "at", "2024-01-31 12:30", "2024-01-31T12:30:00.000000"),
        ("timestamptz", "at", "2024-01-31", "2024-01-31T00:00:00+00:00"),
        ("timestamptz", "at", "2024-01-31T02:00:00+02:00", "2024-01-31T00:00:00Z"),
        ("int", "dateint", "20240131", 20240131),
        ("int", "dateint", "2024-01-31", 20240131),
        ("long", "utc_dateint", 20240131, "20240131"),
        ("long", "id", "42", 42),
        ("double", "ratio", "0.5", 0.5),
        ("boolean", "ok", "true", True),
        ("decimal(9, 2)", "price", 3, "3.00"),
    ],
)
def test_other_ways_to_write_a_bound(kind: str, name: str, given: Any, same_as: Any) -> None:
    assert parse_bound(column(kind, name), given) == parse_bound(column(kind, name), same_as)


@pytest.mark.parametrize(
    ("kind", "name", "wrong", "example"),
    [
        ("date", "day", "yesterday", "2024-01-31"),
        ("date", "day", 20240131, "2024-01-31"),
        ("date", "day", "2024-02-30", "2024-01-31"),
        ("timestamp", "at", "2024-01-31T00:00:00+02:00", "2024-01-31T12:00:00 or"),
        ("timestamp", "at", "2024-01-31T00:00:00.0000001", "2024-01-31T12:00:00 or"),
        ("timestamptz", "at", 5, "2024-01-31T12:00:00+00:00"),
        ("int", "dateint", "20241331", "20240131"),
        ("int", "dateint", "today", "20240131"),
        ("int", "id", 2**31, "42"),
        ("int", "id", True, "42"),
        ("long", "id", 1.5, "42"),
        ("double", "ratio", "NaN", "42"),
        ("string", "name", 5, "some text"),
        ("decimal(9, 2)", "price", "a lot", "12.50"),
        ("binary", "key", "xyz", "00ff"),
    ],
)
def test_a_wrong_bound_is_told_with_an_example(kind: str, name: str, wrong: Any, example: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_bound(column(kind, name), wrong)
    assert told.value.code == "RANGE_VALUE_INVALID"
    assert repr(name) in told.value.message
    assert kind in told.value.message
    assert example in told.value.remedy


def test_ranges_that_hold_nothing_are_refused() -> None:
    day = column("date", "day")
    assert parse_range(day, None, "2024-01-01") == (None, 19723)
    for lower, upper, code in (
        ("2024-01-01", "2024-01-01", "RANGE_EMPTY"),
        ("2024-01-02", "2024-01-01", "RANGE_REVERSED"),
    ):
        with pytest.raises(UsageError) as told:
            parse_range(day, lower, upper)
        assert told.value.code == code


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "sql"),
    [
        ("date", 19723, 19724, "c >= DATE '2024-01-01' AND c < DATE '2024-01-02'"),
        ("timestamp", 0, None, "c >= TIMESTAMP_NTZ '1970-01-01T00:00:00.000000'"),
        ("timestamptz", None, 0, "c < TIMESTAMP '1970-01-01T00:00:00.000000+00:00'"),
        ("int", 1, 2, "c >= 1 AND c < 2"),
        ("long", 1, 2, "c >= 1L AND c < 2L"),
        ("double", 0.5, None, "c >= CAST('0.5' AS DOUBLE)"),
        ("boolean", True, None, "c >= TRUE"),
        ("string", "it's", "a\\b", "c >= 'it\\'s' AND c < 'a\\\\b'"),
        ("decimal(9, 2)", Decimal("1.50"), None, "c >= 1.50BD"),
        ("binary", b"\x00\xff", None, "c >= X'00ff'"),
        ("int", None, None, "c IS NOT NULL"),
    ],
)
def test_conditions_are_typed(kind: str, lower: Any, upper: Any, sql: str) -> None:
    schema = {"fields": [{"name": "c", "id": 1, "type": kind}]}
    assert range_condition(schema, column(kind), lower, upper) == sql


def test_names_are_quoted_where_they_must_be() -> None:
    inner = {"type": "struct", "fields": [{"name": "b c", "id": 3, "type": "int"}]}
    schema = {"fields": [{"name": "a", "id": 1, "type": inner}, {"name": "x.y", "id": 2, "type": "int"}]}
    assert range_condition(schema, column("int", "a.b c"), 1, None) == "a.`b c` >= 1"
    assert range_condition(schema, column("int", "x.y"), 1, None) == "`x.y` >= 1"
