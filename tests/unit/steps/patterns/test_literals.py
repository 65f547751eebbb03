"""Values as literals: whatever a value holds, it stays a value."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.lake.model import ColumnRange, Exactness
from calve.steps.patterns.rendering.filters import (
    PartitionField,
    filter_of_partitions,
    filter_of_range,
)
from calve.steps.patterns.rendering.names import quote
from calve.steps.patterns.rendering.values import literal, read_value, text_literal


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("int", -5, "-5"),
        ("long", 5, "5L"),
        ("boolean", True, "TRUE"),
        ("date", "2024-02-29", "DATE '2024-02-29'"),
        ("timestamp", "2024-01-01T10:20:30.000001", "TIMESTAMP_NTZ '2024-01-01 10:20:30.000001'"),
        ("timestamptz", "2024-01-01T10:20:30+00:00", "TIMESTAMP '2024-01-01 10:20:30+00:00'"),
        ("decimal(7, 2)", "12.30", "CAST('12.30' AS DECIMAL(7, 2))"),
        ("double", 1.5, "CAST('1.5' AS DOUBLE)"),
        ("float", float("inf"), "CAST('inf' AS FLOAT)"),
        ("binary", "00ff", "X'00FF'"),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "'f79c3e09-677c-4bbd-a479-3f349cb785e7'"),
    ],
)
def test_values_of_each_type_are_literals_of_that_type(kind: str, raw: object, expected: str) -> None:
    value = read_value(kind, raw)
    assert value is not None
    assert literal(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("date", "99999 days"),
        ("time", "10:00:00.000000"),
        ("timestamp_ns", "x"),
        ("long", "5"),
        ("int", None),
    ],
)
def test_values_without_a_literal_are_told_from_others(kind: str, raw: object) -> None:
    assert read_value(kind, raw) is None


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_stays_one_literal_whatever_it_holds(text: str) -> None:
    written = text_literal(text)
    in_bytes = re.fullmatch(r"CAST\(X'([0-9A-F]*)' AS STRING\)", written)
    if in_bytes:
        assert bytes.fromhex(in_bytes[1]).decode() == text
    else:
        assert written == f"'{text}'"
        assert not set(text) & set("'\\$\n\0")


@pytest.mark.parametrize("text", ["it's", "a\\b", "${env:HOME}", "a\nb", "\x00", "' OR 1=1 --"])
def test_what_spark_may_take_for_something_else_goes_in_as_bytes(text: str) -> None:
    assert text_literal(text) == f"CAST(X'{text.encode().hex().upper()}' AS STRING)"


def test_a_name_with_backticks_stays_a_name() -> None:
    assert quote("a`; DROP TABLE x; --`") == "`a``; DROP TABLE x; --```"


def test_partitions_are_a_list_of_values_and_nulls_are_asked_for() -> None:
    field = PartitionField("day", "day", "date", "identity")
    found = filter_of_partitions(field, [{"day": "2024-01-02"}, {"day": None}, {"day": "2024-01-01"}])
    assert found is not None
    assert found.sql("t") == "(t.`day` IN (DATE '2024-01-01', DATE '2024-01-02') OR t.`day` IS NULL)"


def test_nan_partitions_are_asked_for_by_name() -> None:
    field = PartitionField("x", "x", "double", "identity")
    found = filter_of_partitions(field, [{"x": float("nan")}, {"x": 1.0}])
    assert found is not None
    assert found.sql() == "(`x` IN (CAST('1.0' AS DOUBLE)) OR isnan(`x`))"


@pytest.mark.parametrize(
    ("transform", "kind", "raws", "expected"),
    [
        ("month", "date", ["2023-12", "2024-01"], "(`c` >= DATE '2023-12-01' AND `c` < DATE '2024-02-01')"),
        ("year", "date", ["2024"], "(`c` >= DATE '2024-01-01' AND `c` < DATE '2025-01-01')"),
        (
            "day",
            "timestamptz",
            ["2024-01-01", "2024-01-03"],
            (
                "((`c` >= TIMESTAMP '2024-01-01 00:00:00+00:00'"
                " AND `c` < TIMESTAMP '2024-01-02 00:00:00+00:00')"
                " OR (`c` >= TIMESTAMP '2024-01-03 00:00:00+00:00'"
                " AND `c` < TIMESTAMP '2024-01-04 00:00:00+00:00'))"
            ),
        ),
        (
            "hour",
            "timestamp",
            ["2024-01-01-23"],
            "(`c` >= TIMESTAMP_NTZ '2024-01-01 23:00:00' AND `c` < TIMESTAMP_NTZ '2024-01-02 00:00:00')",
        ),
    ],
)
def test_partitions_of_time_are_stretches_and_neighbours_are_one(
    transform: str, kind: str, raws: list[str], expected: str
) -> None:
    found = filter_of_partitions(PartitionField("p", "c", kind, transform), [{"p": raw} for raw in raws])
    assert found is not None
    assert found.sql() == expected


def test_partitions_that_do_not_tell_give_no_condition() -> None:
    field = PartitionField("day", "day", "date", "identity")
    assert filter_of_partitions(field, []) is None
    assert filter_of_partitions(field, [{"day": "2024-01-01"}, {"other": 1}]) is None
    assert filter_of_partitions(PartitionField("b", "id", "long", "bucket[4]"), [{"b": 1}]) is None


def test_very_many_partitions_are_one_stretch() -> None:
    field = PartitionField("n", "n", "int", "identity")
    found = filter_of_partitions(field, [{"n": number} for number in range(5000)])
    assert found is not None
    assert found.sql() == "(`n` >= 0 AND `n` <= 4999)"


def test_a_range_says_nothing_where_it_is_unknown_and_asks_for_nulls_where_there_may_be_some() -> None:
    unknown = ColumnRange(None, None, Exactness.UNKNOWN, None, None)
    assert filter_of_range("x", "int", unknown) is None
    known = filter_of_range("x", "int", ColumnRange(1, 5, Exactness.EXACT, None, False))
    assert known is not None
    assert known.sql() == "((`x` >= 1 AND `x` <= 5) OR `x` IS NULL)"
    nulls = filter_of_range("x", "int", ColumnRange(None, None, Exactness.EXACT, True, False))
    assert nulls is not None
    assert nulls.sql() == "`x` IS NULL"


def test_the_dates_of_moments_with_a_zone_reach_a_day_further() -> None:
    moments = filter_of_range(
        "at",
        "timestamptz",
        ColumnRange("2024-01-05T10:00:00+00:00", "2024-01-06T10:00:00+00:00", Exactness.EXACT, False, False),
    )
    assert moments is not None
    dates = moments.as_dates()
    assert dates is not None
    assert dates.sql(None, "day") == "(`day` >= DATE '2024-01-04' AND `day` <= DATE '2024-01-07')"


def test_values_are_python_values_while_they_are_compared() -> None:
    assert read_value("date", "2024-01-01") == date(2024, 1, 1)
    assert read_value("timestamptz", "2024-01-01T01:00:00+00:00") == datetime(2024, 1, 1, 1)  # noqa: DTZ001
    assert read_value("decimal(5,2)", "1.50") == Decimal("1.50")
