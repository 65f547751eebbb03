"""Format 3: row ids and update numbers of the source are those of the ICDC table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from support.lake_table import MERGE_ON_READ, LakeTable, count_rows, read_table
from support.spark import session_conf

from .conftest import MakeTable

LINEAGE = "id, _row_id, _last_updated_sequence_number"
MODES = pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])


def modes(mode: str) -> dict[str, str]:
    return dict.fromkeys(MERGE_ON_READ, mode)


def of_source(table: LakeTable) -> Any:
    return count_rows(table.sql(f"SELECT {LINEAGE} FROM {table}"))


def of_capture(table: LakeTable, start: int | None, row_filter: str = "true") -> Any:
    changes = table.net(start)
    frame = read_table(table.spark, str(changes.icdc_metadata_location))
    return count_rows(frame.where(row_filter).selectExpr(*LINEAGE.split(", ")))


@MODES
def test_row_ids_and_update_numbers_are_kept(make_table: MakeTable, mode: str) -> None:
    table = make_table(format_version=3, **modes(mode))
    table.insert("(1, 'a')", "(2, 'b')")
    table.insert("(3, 'c')")
    table.sql(f"UPDATE {table} SET name = 'z' WHERE id = 2")
    table.compact()
    table.insert("(4, 'd')")

    assert of_capture(table, None) == of_source(table)


def test_row_ids_are_kept_where_a_manifest_is_rewritten(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part", format_version=3, **MERGE_ON_READ)
    table.insert("(1, 0)", "(2, 1)", "(3, 1)")
    start = table.insert("(4, 0)", "(5, 1)", "(6, 1)")
    table.sql(f"DELETE FROM {table} WHERE id = 2")
    shown = of_capture(table, start)

    assert shown.total() == 1
    assert not shown - of_source(table)


def test_files_from_before_the_upgrade_have_no_invented_row_ids(make_table: MakeTable) -> None:
    table = make_table(format_version=2)
    table.insert("(1, 'a')")
    table.insert("(2, 'b')")
    table.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
    assert of_source(table) == Counter([(1, None, None), (2, None, None)])

    assert of_capture(table, None) == of_source(table)


def test_rows_from_before_the_upgrade_get_the_ids_that_the_source_gave_them(make_table: MakeTable) -> None:
    table = make_table(format_version=2)
    table.insert("(1, 'a')")
    start = table.insert("(2, 'b')")
    table.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
    table.insert("(3, 'c')")

    assert of_capture(table, None) == of_source(table)
    assert table.difference(table.check_net(start))[0] == Counter([(3, "c")])


def test_lineage_is_not_used_from_a_state_that_had_none(make_table: MakeTable) -> None:
    table = make_table(format_version=2)
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
    table.sql(f"UPDATE {table} SET name = 'z' WHERE id = 2")
    changes = table.check_net(start)

    assert changes.row_filter is None
    assert changes.lineage is None


@MODES
def test_row_filter_leaves_carried_rows_out(make_table: MakeTable, mode: str) -> None:
    table = make_table(format_version=3, **modes(mode))
    start = table.insert("(1, 'a')", "(2, 'b')", "(3, 'c')")
    table.sql(f"UPDATE {table} SET name = 'z' WHERE id = 2")
    table.insert("(4, 'd')")
    changes = table.check_net(start)
    assert changes.row_filter is not None

    assert sorted(row[0] for row in of_capture(table, start, changes.row_filter)) == [2, 4]


def test_compacted_rows_count_as_old(make_table: MakeTable) -> None:
    table = make_table(format_version=3)
    table.insert("(1, 'a')")
    start = table.insert("(2, 'b')")
    table.compact()
    table.insert("(3, 'c')")
    changes = table.check_net(start)
    assert changes.row_filter is not None

    assert [row[0] for row in of_capture(table, start, changes.row_filter)] == [3]


def test_a_delete_that_was_taken_back_is_not_left_to_lineage(make_table: MakeTable) -> None:
    table = make_table(format_version=3, **MERGE_ON_READ)
    first = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    start = table.head
    table.call("rollback_to_snapshot", f"snapshot_id => {first}")
    changes = table.check_net(start, first, backward_allowed=True)

    assert changes.row_filter is None
    assert table.difference(changes)[0] == Counter([(1, "a")])


def test_cherry_picked_rows_are_found_though_their_ids_are_new(make_table: MakeTable) -> None:
    table = make_table(format_version=3, write_wap_enabled="true")
    start = table.insert("(1, 'a')")
    with session_conf(table.spark, {"spark.wap.id": "staged"}):
        table.sql(f"INSERT INTO {table} VALUES (2, 'b')")
    staged = table.snapshot_ids[-1]
    table.insert("(3, 'c')")
    table.call("cherrypick_snapshot", f"snapshot_id => {staged}")
    changes = table.check_net(start)

    assert of_capture(table, start, changes.row_filter or "true").total() == 2
    assert not of_capture(table, start) - of_source(table)


@pytest.mark.parametrize("deletes_too", [False, True])
def test_rows_of_a_file_that_came_back_are_new_though_their_numbers_are_old(
    make_table: MakeTable, deletes_too: bool
) -> None:
    table = make_table(format_version=3)
    table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"UPDATE {table} SET name = 'c' WHERE id = 1")
    (carried,) = table.java.data_files()
    table.java.remove_file(carried)
    start = table.insert("(3, 'd')")
    table.java.append_file(carried)
    if deletes_too:
        table.sql(f"DELETE FROM {table} WHERE id = 3")
    changes = table.check_net(start)

    assert changes.row_filter is None
    assert table.after(changes) == Counter([(1, "c"), (2, "b")])
