"""Ranges hold all values of the change, and say how far they can be trusted."""

from __future__ import annotations

from typing import Any

import pytest

from calve.errors import UsageError
from calve.lake import Changes, ColumnRange, Exactness
from support.lake_table import MERGE_ON_READ

from .conftest import MakeTable

EXACT, INEXACT, UNKNOWN = Exactness.EXACT, Exactness.INEXACT, Exactness.UNKNOWN


def bounds(changes: Changes, column: str) -> tuple[Any, Any, Exactness]:
    found: ColumnRange = changes.ranges[column]
    return found.lower, found.upper, found.exactness


def test_plain_types_have_exact_ranges(make_table: MakeTable) -> None:
    table = make_table(
        "i int, l bigint, f float, d double, b boolean, m decimal(9,2),"
        " day date, at timestamp_ntz, tz timestamp"
    )
    table.insert(
        "(1, 10, 0.5, 1.5, false, 1.25, DATE '2024-01-31', TIMESTAMP_NTZ '2024-01-31 10:00:00.000001',"
        " TIMESTAMP '2024-01-31 10:00:00')",
        "(-7, 20, 2.5, -1.5, true, -3.50, DATE '1969-12-31', TIMESTAMP_NTZ '1969-12-31 23:59:59',"
        " TIMESTAMP '2024-02-01 00:00:00')",
    )
    columns = ("i", "l", "f", "d", "b", "m", "day", "at", "tz")
    changes = table.net(None, range_columns=columns)

    assert {column: bounds(changes, column) for column in columns} == {
        "i": (-7, 1, EXACT),
        "l": (10, 20, EXACT),
        "f": (0.5, 2.5, EXACT),
        "d": (-1.5, 1.5, EXACT),
        "b": (False, True, EXACT),
        "m": ("-3.50", "1.25", EXACT),
        "day": ("1969-12-31", "2024-01-31", EXACT),
        "at": ("1969-12-31T23:59:59.000000", "2024-01-31T10:00:00.000001", EXACT),
        "tz": ("2024-01-31T10:00:00.000000+00:00", "2024-02-01T00:00:00.000000+00:00", EXACT),
    }
    assert all(changes.ranges[column].has_null is False for column in columns)


def test_range_is_the_union_over_the_files_of_the_range_only(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')", "(1000, 'b')")
    table.insert("(5, 'c')", "(7, 'd')")
    table.insert("(6, 'e')", "(9, 'f')")

    assert bounds(table.appended(start, range_columns=("id",)), "id") == (5, 9, EXACT)
    assert bounds(table.net(start, range_columns=("id",)), "id") == (5, 9, EXACT)


def test_text_bounds_are_cut_short_and_said_to_be_inexact(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'aaaaaaaaaaaaaaaaZZZZ')", "(2, 'aaaaaaaaaaaaaaaaYYYY')")
    lower, upper, exactness = bounds(table.net(None, range_columns=("name",)), "name")

    assert exactness is INEXACT
    assert lower <= "aaaaaaaaaaaaaaaaYYYY"
    assert upper >= "aaaaaaaaaaaaaaaaZZZZ"


def test_nulls_and_nans_lie_outside_and_are_told(make_table: MakeTable) -> None:
    table = make_table("id bigint, f double, n int")
    table.insert("(1, double('NaN'), NULL)", "(2, 0.5, NULL)")
    changes = table.net(None, range_columns=("id", "f", "n"))

    assert bounds(changes, "f") == (0.5, 0.5, EXACT)
    assert (changes.ranges["f"].has_nan, changes.ranges["f"].has_null) == (True, False)
    assert bounds(changes, "n")[:2] == (None, None)
    assert changes.ranges["n"].has_null is True
    assert changes.ranges["id"].has_nan is False


def test_file_of_nothing_but_nan_does_not_hide_the_others(make_table: MakeTable) -> None:
    table = make_table("id bigint, f double")
    table.insert("(1, double('NaN'))")
    table.insert("(2, 0.5)", "(3, NULL)")
    changes = table.net(None, range_columns=("f",))

    assert bounds(changes, "f") == (0.5, 0.5, EXACT)
    assert (changes.ranges["f"].has_nan, changes.ranges["f"].has_null) == (True, True)


@pytest.mark.parametrize("metrics", ["none", "counts"])
def test_range_without_bounds_is_unknown(make_table: MakeTable, metrics: str) -> None:
    table = make_table()
    table.insert("(1, 'a')")
    table.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.metrics.default'='{metrics}')")
    table.insert("(2, 'b')")

    assert bounds(table.net(None, range_columns=("id",)), "id") == (None, None, UNKNOWN)


def test_avro_files_have_no_bounds(make_table: MakeTable) -> None:
    table = make_table(write_format_default="avro")
    table.insert("(1, 'a')")

    assert bounds(table.net(None, range_columns=("id",)), "id") == (None, None, UNKNOWN)


def test_partition_values_stand_in_for_missing_bounds(make_table: MakeTable) -> None:
    table = make_table("id bigint, day date, at timestamp_ntz", "day, months(at), bucket(2, id)")
    table.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.metrics.default'='none')")
    table.insert(
        "(1, DATE '2024-01-31', TIMESTAMP_NTZ '2024-02-10 10:00:00')",
        "(2, DATE '2024-02-02', TIMESTAMP_NTZ '2024-03-05 00:00:00')",
    )
    changes = table.net(None, range_columns=("id", "day", "at"))

    assert bounds(changes, "day") == ("2024-01-31", "2024-02-02", EXACT)
    assert bounds(changes, "at") == ("2024-02-01T00:00:00.000000", "2024-03-31T23:59:59.999999", INEXACT)
    assert bounds(changes, "id") == (None, None, UNKNOWN)
    assert {p["at_month"] for p in changes.partitions} == {"2024-02", "2024-03"}


def test_void_partition_field_says_nothing_of_its_column(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part", format_version=1)
    table.sql(f"ALTER TABLE {table} DROP PARTITION FIELD part")
    table.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.metrics.default'='none')")
    table.insert("(1, 5)")

    assert bounds(table.net(None, range_columns=("part",)), "part") == (None, None, UNKNOWN)


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_files_with_carried_rows_make_the_range_inexact(make_table: MakeTable, mode: str) -> None:
    table = make_table(**dict.fromkeys(MERGE_ON_READ, mode))
    start = table.insert("(1, 'a')", "(5, 'b')", "(9, 'c')")
    table.sql(f"UPDATE {table} SET name = 'z' WHERE id = 5")
    changes = table.net(start, range_columns=("id",))

    assert bounds(changes, "id") == (1, 9, INEXACT)


def test_full_load_over_delete_files_is_inexact(make_table: MakeTable) -> None:
    table = make_table(**MERGE_ON_READ)
    table.insert("(1, 'a')", "(5, 'b')", "(9, 'c')")
    table.sql(f"DELETE FROM {table} WHERE id = 9")
    first = table.head
    table.insert("(6, 'd')")

    assert bounds(table.net(None, range_columns=("id",)), "id") == (1, 9, INEXACT)
    assert bounds(table.net(first, range_columns=("id",)), "id") == (6, 6, EXACT)


def test_promoted_date_bounds_are_read_as_timestamps(make_table: MakeTable) -> None:
    table = make_table("id bigint, at date", format_version=3)
    table.insert("(1, DATE '2024-01-31')", "(2, DATE '2024-02-01')")

    def promote(raw: dict[str, Any]) -> None:
        # Allowed by format 3, and not yet done by Iceberg's own writers.
        raw["schemas"][0]["fields"][1]["type"] = "timestamp"

    changes = table.with_metadata(promote).net(None, range_columns=("at",))
    assert bounds(changes, "at") == ("2024-01-31T00:00:00.000000", "2024-02-01T00:00:00.000000", EXACT)


def test_column_added_later_is_null_or_its_default_in_older_files(make_table: MakeTable) -> None:
    table = make_table("id bigint", format_version=3)
    table.insert("(1)")
    table.sql(f"ALTER TABLE {table} ADD COLUMN plain int")
    table.java.add_column_with_default("filled", "int", 3)
    table.insert("(2, 7, 8)")
    changes = table.net(None, range_columns=("plain", "filled"))

    assert bounds(changes, "plain") == (7, 7, EXACT)
    assert changes.ranges["plain"].has_null is True
    assert bounds(changes, "filled") == (3, 8, EXACT)
    assert changes.ranges["filled"].has_null is False


def test_a_field_inside_structs_has_a_range(make_table: MakeTable) -> None:
    table = make_table("id bigint, s struct<x: int, t: struct<day: date>>")
    table.insert(
        "(1, named_struct('x', 3, 't', named_struct('day', DATE '2024-01-31')))",
        "(2, named_struct('x', 5, 't', named_struct('day', DATE '2024-02-01')))",
        "(3, NULL)",
    )
    changes = table.net(None, range_columns=("s.x", "s.t.day"))

    assert bounds(changes, "s.x") == (3, 5, EXACT)
    assert bounds(changes, "s.t.day") == ("2024-01-31", "2024-02-01", EXACT)
    assert changes.ranges["s.x"].has_null is True


@pytest.mark.parametrize(
    ("column", "code"),
    [
        ("nowhere", "RANGE_COLUMN_NOT_FOUND"),
        ("s.y", "RANGE_COLUMN_NOT_FOUND"),
        ("m.value", "RANGE_COLUMN_NESTED"),
        ("s", "RANGE_COLUMN_UNORDERED"),
        ("m", "RANGE_COLUMN_UNORDERED"),
    ],
)
def test_columns_without_a_range_are_refused(make_table: MakeTable, column: str, code: str) -> None:
    table = make_table("id bigint, s struct<x: int>, m map<string, int>")

    with pytest.raises(UsageError) as refused:
        table.net(None, range_columns=(column,))
    assert refused.value.code == code
