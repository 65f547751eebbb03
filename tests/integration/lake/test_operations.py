"""A snapshot is judged by what it did, not by what it is called."""

from __future__ import annotations

from collections import Counter

import pytest

from calve.errors import RefusedError
from calve.lake import Mode, OnOther, Operation
from support.lake_table import MERGE_ON_READ
from support.spark import session_conf

from .conftest import MakeTable


def test_range_of_compactions_alone_has_no_changes(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')")
    start = table.insert("(2, 'b')")
    table.compact()
    assert table.head != start
    changes = table.check_net(start)

    assert not changes.has_changes
    assert (changes.files, changes.operations) == (0, {"replace": 1})
    assert not table.appended(start).has_changes


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_append_mode_sees_through_compaction(make_table: MakeTable, format_version: int) -> None:
    table = make_table(format_version=format_version)
    start = table.insert("(1, 'a')")
    table.insert("(2, 'b')")
    table.compact()
    table.insert("(3, 'c')")
    changes = table.appended(start)

    assert table.after(changes) == Counter([(2, "b"), (3, "c")])
    assert changes.operations == {"append": 2, "replace": 1}
    assert changes.skipped_operations == {}
    table.check_net(start)


def test_compaction_that_applies_deletes_is_no_change(make_table: MakeTable) -> None:
    table = make_table(**MERGE_ON_READ)
    table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    start = table.head
    table.compact()

    assert not table.check_net(start).has_changes


def test_overwrite_that_only_adds_is_an_append(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part")
    start = table.insert("(1, 0)")
    with session_conf(table.spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        table.sql(f"INSERT OVERWRITE {table} VALUES (2, 1)")
    assert table.source.metadata.snapshot(table.head).operation == "overwrite"
    changes = table.appended(start)

    assert table.after(changes) == Counter([(2, 1)])
    assert changes.operations == {"append": 1}


@pytest.mark.parametrize("format_version", [2, 3])
def test_row_delete_adds_delete_files_and_is_a_delete(make_table: MakeTable, format_version: int) -> None:
    table = make_table(format_version=format_version, **MERGE_ON_READ)
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")

    assert table.net(start).operations == {"delete": 1}


def test_append_mode_counts_what_it_leaves_out(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"UPDATE {table} SET name = 'z' WHERE id = 1")
    table.insert("(3, 'c')")
    table.sql(f"DELETE FROM {table} WHERE id > 0")
    changes = table.appended(start)

    assert table.after(changes) == Counter([(3, "c")])
    assert changes.operations == {"append": 1}
    assert changes.skipped_operations == {"overwrite": 1, "delete": 1}


def test_append_mode_can_refuse_other_operations(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")

    with pytest.raises(RefusedError) as refused:
        table.appended(start, on_other=OnOther.FAIL)
    assert refused.value.code == "OTHER_OPERATIONS"


def test_net_mode_refuses_operations_that_were_not_asked_for(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")

    with pytest.raises(RefusedError) as refused:
        table.net(start, operations=frozenset({Operation.APPEND, Operation.OVERWRITE}))
    assert refused.value.code == "OTHER_OPERATIONS"


def test_equal_rows_are_counted_not_merged(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')", "(1, 'a')")
    start = table.insert("(1, 'a')")
    table.sql(f"INSERT INTO {table} SELECT * FROM {table}")
    middle = table.head

    assert table.difference(table.check_net(start))[0] == Counter({(1, "a"): 3})
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    assert table.difference(table.check_net(middle))[1] == Counter({(1, "a"): 6})


def test_row_that_came_and_went_inside_the_range_does_not_show(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.insert("(2, 'b')")
    table.sql(f"DELETE FROM {table} WHERE id = 2")
    changes = table.check_net(start)

    assert not changes.has_changes
    assert changes.operations == {"append": 1, "delete": 1}


def test_log_shows_every_step_and_leaves_rewrites_out(make_table: MakeTable) -> None:
    table = make_table()
    first = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"UPDATE {table} SET name = 'z' WHERE id = 1")
    second = table.head
    table.compact()
    table.sql(f"DELETE FROM {table} WHERE id = 2")
    changes = table.capture(Mode.LOG, None)

    assert [(step.ordinal, step.operation.value) for step in changes.steps] == [
        (0, "append"),
        (1, "overwrite"),
        (2, "overwrite"),
    ]
    assert [step.snapshot_id for step in changes.steps] == [first, second, table.head]


def test_a_file_added_twice_in_the_range_is_refused_in_append_mode(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')")
    (file,) = table.java.data_files()
    table.java.remove_file(file)
    table.java.append_file(file)

    with pytest.raises(RefusedError) as refused:
        table.appended(None)
    assert refused.value.code == "DUPLICATE_FILES"
    assert table.after(table.check_net(None)) == Counter([(1, "a")])
