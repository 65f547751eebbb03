"""Rows are read by the ids of their columns, with the schema of the newer state."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from calve.lake import Mode
from calve.lake.storage import read_json
from support.lake_table import LakeTable, read_table

from .conftest import MakeTable


def shown(table: LakeTable, start: int | None) -> Any:
    """The rows that came since `start`, as dictionaries."""
    changes = table.net(start)
    assert changes.icdc_metadata_location is not None
    frame = read_table(table.spark, changes.icdc_metadata_location)
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=str)


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_values_of_a_dropped_column_do_not_turn_up_in_another(
    make_table: MakeTable, format_version: int
) -> None:
    table = make_table("a int, b int, c int", format_version=format_version)
    table.insert("(1, 2, 3)")
    table.sql(f"ALTER TABLE {table} DROP COLUMN b")
    table.insert("(4, 6)")

    assert shown(table, None) == [{"a": 1, "c": 3}, {"a": 4, "c": 6}]


def test_field_ids_and_all_schemas_are_those_of_the_source(make_table: MakeTable) -> None:
    table = make_table("a int, b int, c int")
    table.sql(f"ALTER TABLE {table} DROP COLUMN b")
    table.sql(f"ALTER TABLE {table} ADD COLUMN b int")
    table.insert("(1, 3, 4)")
    changes = table.net(None)
    source = table.source.metadata.raw
    icdc = read_json(table.source.io, str(changes.icdc_metadata_location))

    kept = ("schemas", "last-column-id", "partition-specs", "last-partition-id", "sort-orders")
    assert {key: icdc[key] for key in kept} == {key: source[key] for key in kept}
    assert icdc["table-uuid"] != source["table-uuid"]
    assert not icdc["location"].startswith(source["location"])


def test_added_column_is_null_in_older_rows(make_table: MakeTable) -> None:
    table = make_table("a int")
    start = table.insert("(1)")
    table.sql(f"ALTER TABLE {table} ADD COLUMN b string")
    table.insert("(2, 'x')")

    assert shown(table, None) == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]
    assert shown(table, start) == [{"a": 2, "b": "x"}]


def test_initial_default_stands_for_what_older_files_lack(make_table: MakeTable) -> None:
    table = make_table("a int", format_version=3)
    table.insert("(1)")
    table.java.add_column_with_default("b", "string", "unset")
    table.insert("(2, 'x')")

    assert shown(table, None) == [{"a": 1, "b": "unset"}, {"a": 2, "b": "x"}]


def test_renamed_and_moved_columns_keep_their_values(make_table: MakeTable) -> None:
    table = make_table("a int, b string")
    start = table.insert("(1, 'x')")
    table.sql(f"ALTER TABLE {table} RENAME COLUMN b TO label")
    table.sql(f"ALTER TABLE {table} ALTER COLUMN label FIRST")
    table.insert("('y', 2)")

    assert shown(table, start) == [{"label": "y", "a": 2}]
    assert shown(table, None) == [{"label": "x", "a": 1}, {"label": "y", "a": 2}]


def test_column_added_again_under_its_old_name_is_another_column(make_table: MakeTable) -> None:
    table = make_table("a int, b string")
    table.insert("(1, 'old')")
    table.sql(f"ALTER TABLE {table} DROP COLUMN b")
    table.sql(f"ALTER TABLE {table} ADD COLUMN b string")
    table.insert("(2, 'new')")

    assert shown(table, None) == [{"a": 1, "b": None}, {"a": 2, "b": "new"}]


def test_promoted_types_are_read_from_files_of_either_type(make_table: MakeTable) -> None:
    table = make_table("a int, f float, d decimal(4,2)")
    table.insert("(1, 0.5, 1.25)")
    for column, wider in (("a", "bigint"), ("f", "double"), ("d", "decimal(10,2)")):
        table.sql(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {wider}")
    table.insert(f"({2**40}, 0.25, 12345678.50)")

    changes = table.net(None, range_columns=("a", "f", "d"))
    assert table.after(changes) == table.rows()
    assert changes.ranges["a"].to_json()["upper"] == 2**40
    assert (changes.ranges["a"].lower, changes.ranges["f"].lower) == (1, 0.25)
    assert changes.ranges["d"].upper == "12345678.50"


def test_nested_fields_evolve_by_their_ids_too(make_table: MakeTable) -> None:
    table = make_table("a int, s struct<x: int, y: string>, l array<struct<k: int>>")
    table.insert("(1, named_struct('x', 1, 'y', 'p'), array(named_struct('k', 5)))")
    table.sql(f"ALTER TABLE {table} DROP COLUMN s.x")
    table.sql(f"ALTER TABLE {table} ADD COLUMN s.x int")
    table.sql(f"ALTER TABLE {table} RENAME COLUMN s.y TO z")
    table.sql(f"ALTER TABLE {table} ADD COLUMN l.element.m string")
    table.sql(f"INSERT INTO {table} VALUES (2, NULL, NULL)")

    assert shown(table, None) == [
        {"a": 1, "s": {"z": "p", "x": None}, "l": [{"k": 5, "m": None}]},
        {"a": 2, "s": None, "l": None},
    ]


def test_rows_that_went_are_shown_with_the_columns_of_the_newer_state(make_table: MakeTable) -> None:
    table = make_table("a int, b string, c int")
    start = table.insert("(1, 'x', 7)", "(2, 'y', 8)")
    table.sql(f"ALTER TABLE {table} RENAME COLUMN b TO label")
    table.sql(f"ALTER TABLE {table} DROP COLUMN c")
    table.sql(f"UPDATE {table} SET label = 'z' WHERE a = 2")
    changes = table.net(start)

    assert table.difference(changes) == (Counter([(2, "z")]), Counter([(2, "y")]))


def test_after_a_rollback_over_a_promotion_both_sides_can_be_read(make_table: MakeTable) -> None:
    table = make_table("a int, b int")
    first = table.insert("(1, 1)")
    table.sql(f"ALTER TABLE {table} ALTER COLUMN b TYPE bigint")
    second = table.insert(f"(2, {2**40})")
    table.call("rollback_to_snapshot", f"snapshot_id => {first}")
    changes = table.net(second, first, backward_allowed=True)

    assert table.difference(changes) == (Counter(), Counter([(2, 2**40)]))


def test_a_widened_and_dropped_column_does_not_break_a_rollback(make_table: MakeTable) -> None:
    table = make_table("a int, b int")
    first = table.insert("(1, 1)")
    table.sql(f"ALTER TABLE {table} ALTER COLUMN b TYPE bigint")
    table.insert(f"(2, {2**40})")
    table.sql(f"ALTER TABLE {table} DROP COLUMN b")
    last = table.insert("(3)")
    table.call("rollback_to_snapshot", f"snapshot_id => {first}")
    changes = table.net(last, first, backward_allowed=True)

    came, went = table.difference(changes)
    assert not came
    assert sorted(row[0] for row in went) == [2, 3]


def test_a_schema_change_without_a_snapshot_does_not_reach_the_capture(make_table: MakeTable) -> None:
    table = make_table("a int, b int")
    table.insert("(1, 2)")
    table.sql(f"ALTER TABLE {table} DROP COLUMN a")

    assert shown(table, None) == [{"a": 1, "b": 2}]


def test_log_shows_each_step_with_its_own_schema(make_table: MakeTable) -> None:
    table = make_table("a int")
    first = table.insert("(1)")
    table.sql(f"ALTER TABLE {table} ADD COLUMN b string")
    second = table.insert("(2, 'x')")
    changes = table.capture(Mode.LOG, None)
    location = str(changes.icdc_metadata_location)

    assert [step.snapshot_id for step in changes.steps] == [first, second]
    assert read_table(table.spark, location, first).collect() == [(1,)]
    assert read_table(table.spark, location, second).collect() == [(2, "x")]
