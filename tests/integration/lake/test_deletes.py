"""Delete files count exactly where the specification says: by partition, by sequence number, by path."""

from __future__ import annotations

from collections import Counter

import pytest

from support.lake_table import MERGE_ON_READ

from .conftest import MakeTable


@pytest.mark.parametrize("format_version", [2, 3])
@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_a_row_that_was_deleted_is_the_only_one_that_went(
    make_table: MakeTable, format_version: int, granularity: str
) -> None:
    table = make_table(format_version=format_version, write_delete_granularity=granularity, **MERGE_ON_READ)
    start = table.insert("(1, 'a')", "(2, 'b')", "(3, 'c')")
    table.insert("(4, 'd')", "(5, 'e')")
    table.sql(f"DELETE FROM {table} WHERE id IN (2, 4)")
    changes = table.check_net(start)

    assert table.difference(changes)[1] == Counter([(2, "b")])
    assert changes.operations == {"append": 1, "delete": 1}


def test_untouched_files_are_not_shown(make_table: MakeTable) -> None:
    table = make_table(**MERGE_ON_READ)
    for number in range(4):
        table.insert(f"({2 * number}, 'a')", f"({2 * number + 1}, 'b')")
    start = table.head
    table.sql(f"DELETE FROM {table} WHERE id = 3")
    changes = table.check_net(start)

    assert (changes.files, changes.removed_files) == (1, 1)


def test_several_deletion_vectors_in_one_puffin_file_are_told_apart(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part", format_version=3, **MERGE_ON_READ)
    start = table.insert("(1, 0)", "(2, 0)", "(3, 1)", "(4, 1)", "(5, 2)", "(6, 2)")
    table.sql(f"DELETE FROM {table} WHERE id IN (1, 3)")
    vectors = [row.file_path for row in table.sql(f"SELECT file_path FROM {table}.delete_files").collect()]
    assert (len(vectors), len(set(vectors))) == (2, 1)
    middle = table.head
    table.check_net(start)
    table.sql(f"DELETE FROM {table} WHERE id = 2 OR id = 5")
    table.check_net(middle)

    assert table.difference(table.check_net(start))[1] == Counter([(1, 0), (2, 0), (3, 1), (5, 2)])


def test_a_replaced_deletion_vector_is_not_united_with_the_old_one(make_table: MakeTable) -> None:
    table = make_table(format_version=3, **MERGE_ON_READ)
    table.insert("(1, 'a')", "(2, 'b')", "(3, 'c')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    start = table.head
    table.sql(f"DELETE FROM {table} WHERE id = 2")
    changes = table.check_net(start)

    assert table.after(changes) == Counter([(3, "c")])
    assert table.before(changes) == Counter([(2, "b"), (3, "c")])


def test_equality_delete_removes_older_rows_only(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'old')", "(2, 'b')")
    table.java.delete_equal([{"id": 1}])
    table.insert("(1, 'new')")
    changes = table.check_net(start)

    assert table.difference(changes) == (Counter([(1, "new")]), Counter([(1, "old")]))


def test_rows_that_an_equality_delete_removed_do_not_come_back(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')", "(2, 'b')")
    table.java.delete_equal([{"id": 1}])
    table.insert("(3, 'c')")

    assert table.after(table.check_net(None)) == Counter([(2, "b"), (3, "c")])


def test_upsert_keeps_the_row_it_brings(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'old')")
    table.java.upsert({"id": 1, "name": "new"}, "id")
    changes = table.check_net(start)

    assert table.difference(changes) == (Counter([(1, "new")]), Counter([(1, "old")]))
    assert changes.operations == {"overwrite": 1}


def test_equality_delete_of_an_unpartitioned_spec_reaches_all_partitions(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int")
    before_evolution = table.insert("(1, 0)")
    everywhere = table.java.data_files()[0]
    table.sql(f"ALTER TABLE {table} ADD PARTITION FIELD part")
    start = table.insert("(1, 5)", "(2, 6)")
    table.java.delete_equal([{"id": 1}], like=everywhere)

    assert table.difference(table.check_net(start))[1] == Counter([(1, 0), (1, 5)])
    assert table.difference(table.check_net(before_evolution))[1] == Counter([(1, 0)])


def test_equality_delete_of_a_partition_stays_in_it(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part")
    start = table.insert("(1, 0)", "(1, 1)")
    table.java.delete_equal([{"id": 1}], {"part": 1})
    changes = table.check_net(start)

    assert table.difference(changes)[1] == Counter([(1, 1)])
    assert changes.files == 1


def test_equality_delete_by_null_reaches_rows_with_null(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, NULL)", "(2, 'b')")
    table.java.delete_equal([{"name": None}])

    assert table.difference(table.check_net(start))[1] == Counter([(1, None)])


def test_equality_delete_after_a_promotion_compares_values_not_bytes(make_table: MakeTable) -> None:
    table = make_table("id int, name string")
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE bigint")
    table.java.delete_equal([{"id": 1}])

    assert table.difference(table.check_net(start))[1] == Counter([(1, "a")])


def test_position_delete_over_several_files_touches_each_of_them(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')", "(2, 'b')")
    table.insert("(3, 'c')", "(4, 'd')")
    start = table.insert("(5, 'e')")
    first, second = sorted(file.location() for file in table.java.data_files() if file.recordCount() == 2)
    table.java.delete_positions({first: [0], second: [1]})
    changes = table.check_net(start)

    assert table.difference(changes)[1].total() == 2


def test_file_that_was_removed_and_added_again_is_out_of_reach_of_older_deletes(
    make_table: MakeTable,
) -> None:
    table = make_table()
    table.insert("(1, 'a')", "(2, 'b')")
    (file,) = table.java.data_files()
    table.java.delete_equal([{"id": 1}])
    start = table.head
    table.java.remove_file(file)
    table.java.append_file(file)
    assert table.rows() == Counter([(1, "a"), (2, "b")])

    assert table.difference(table.check_net(start))[0] == Counter([(1, "a")])


def test_deletes_in_partitions_of_nan_apply(make_table: MakeTable) -> None:
    table = make_table(
        "id bigint, ratio double", "ratio", **MERGE_ON_READ, write_delete_granularity="partition"
    )
    table.insert("(1, double('NaN'))", "(2, double('NaN'))", "(3, 0.5)")
    table.insert("(4, double('NaN'))", "(5, double('NaN'))")
    start = table.head
    table.sql(f"DELETE FROM {table} WHERE id IN (1, 4)")
    assert len(table.sql(f"SELECT * FROM {table}.delete_files").collect()) == 1
    changes = table.check_net(start)

    assert table.difference(changes)[1].total() == 2


def test_deletes_apply_in_a_partition_by_a_decimal_that_was_widened(make_table: MakeTable) -> None:
    table = make_table("id bigint, price decimal(4,2)", "price")
    table.insert("(1, 1.25)", "(2, 1.25)", "(3, 7.50)")
    table.sql(f"ALTER TABLE {table} ALTER COLUMN price TYPE decimal(20,2)")
    start = table.head
    table.java.delete_equal([{"id": 1}], {"price": "1.25"})
    changes = table.check_net(start)

    assert table.difference(changes)[1].total() == 1


def test_rewriting_position_deletes_changes_nothing(make_table: MakeTable) -> None:
    table = make_table(**MERGE_ON_READ)
    table.insert("(1, 'a')", "(2, 'b')", "(3, 'c')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    table.sql(f"DELETE FROM {table} WHERE id = 2")
    start = table.head
    table.call("rewrite_position_delete_files", "options => map('rewrite-all', 'true')")
    assert table.head != start
    changes = table.check_net(start)

    assert not changes.has_changes
    assert changes.operations == {"replace": 1}
