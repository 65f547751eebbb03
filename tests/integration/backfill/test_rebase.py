"""Putting the changes of a branch on top of a main that has moved: by partition, without a copy."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from calve.backfill.spark.rebase import rebase
from calve.backfill.spark.targets import BACKFILL_PROPERTY
from calve.errors import ConflictError, RefusedError
from calve.spark.changes import changes
from support.branches import CHANGES, PARTITIONS, Branched, BranchedTable
from support.iceberg_java import JavaTable

FORMATS = [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write")]
FORMATS += [(3, "merge-on-read")]
Step = tuple[str, str, int]

steps = st.lists(
    st.tuples(
        st.sampled_from(["b", "main", "b"]), st.sampled_from(sorted(CHANGES)), st.integers(0, PARTITIONS - 1)
    ),
    min_size=4,
    max_size=9,
)


def named(parts: set[int]) -> list[dict[str, Any]]:
    return [{"part": part} for part in sorted(parts)]


def net_change(table: BranchedTable, start: int, end: int) -> Counter[tuple[Any, ...]]:
    """What a consumer makes of the change: rows that came count up, rows that went count down."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in changes(table.spark, table.capture(start, end)).collect():
        sign = 1 if row["_change_type"] in ("insert", "update_after") else -1
        found[row["id"], row["part"], row["v"]] += sign
    return Counter({row: count for row, count in found.items() if count})


def total(rows: dict[int, Counter[tuple[Any, ...]]]) -> Counter[tuple[Any, ...]]:
    return sum(rows.values(), Counter())


def check_lineage(table: BranchedTable) -> None:
    ids = (
        "SELECT count(*) - count(DISTINCT _row_id) + count_if(_last_updated_sequence_number IS NULL) FROM {t}"
    )
    assert table.one(ids) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("version", "mode"), FORMATS)
# To find a smaller history takes longer than to read the one that failed.
@settings(max_examples=2, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(history=steps)
def test_each_partition_equals_the_side_that_changed_it(
    branched: Branched, version: int, mode: str, history: list[Step]
) -> None:
    table = branched.make(version, mode)
    touched: dict[str, set[int]] = {"main": set(), "b": set()}
    for side, kind, part in history:
        table.change(side, kind, part)
        touched[side].add(part)
    main, branch = table.rows("main"), table.rows("b")
    head, files = table.head("main"), table.files()
    keep = named(touched["b"] - touched["main"])

    landed = rebase(table.spark, table.name, "b", table.base, keep, "main", "7/publish/0.1")

    expected = {part: branch[part] if {"part": part} in keep else main[part] for part in main}
    assert table.rows("main") == expected
    assert table.rows("b") == branch
    assert table.files() == files
    assert landed == table.head("main")
    assert rebase(table.spark, table.name, "b", table.base, keep, "main", "7/publish/0.1") == landed
    assert table.head("main") == landed
    came = Counter(total(expected))
    came.subtract(total(main))
    assert net_change(table, head, table.head("main")) == Counter({k: n for k, n in came.items() if n})
    if version == 3:
        check_lineage(table)
    # What others do next finds the table whole.
    table.spark.sql(f"DELETE FROM {table.name} WHERE id % 7 = 1")
    left = Counter({row: n for row, n in total(expected).items() if row[0] % 7 != 1})
    assert total(table.rows("main")) == left


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 3])
def test_partitions_that_both_sides_changed_are_not_moved_and_nothing_is_committed(
    branched: Branched, version: int
) -> None:
    table = branched.make(version)
    table.change("b", "update", 1)
    table.change("b", "update", 2)
    # Each of these takes rows out of the partition and puts none in.
    table.change("main", "delete", 1)
    head = table.head("main")

    for keep in (None, named({1, 2})):
        with pytest.raises(ConflictError) as refused:
            rebase(table.spark, table.name, "b", table.base, keep, "main", "7/publish/0.1")
        assert refused.value.code == "MAIN_MOVED"
        assert '{"part": 1}' in refused.value.message
    assert table.head("main") == head

    table.spark.sql(f"ALTER TABLE {table.name} CREATE BRANCH fresh")
    landed = rebase(table.spark, table.name, "b", table.base, named({2}), "fresh", "7/replay/0.1")
    assert landed == table.head("fresh")
    assert table.head("main") == head
    assert table.rows("fresh") == table.rows("main") | {2: table.rows("b")[2]}
    assert table.summary(table.head("fresh"))[BACKFILL_PROPERTY] == "7/replay/0.1"

    # Where nothing is to be moved there is a snapshot that says so.
    empty = rebase(table.spark, table.name, "b", table.base, named({4}), "main", "7/publish/0.2")
    assert (table.head("main"), table.summary(empty)[BACKFILL_PROPERTY]) == (empty, "7/publish/0.2")
    assert rebase(table.spark, table.name, "b", table.base, named({4}), "main", "7/publish/0.2") == empty
    assert table.rows("fresh") == table.rows("main") | {2: table.rows("b")[2]}


@pytest.mark.slow
def test_deletion_vectors_that_share_a_file_with_replaced_ones_are_replaced_too(branched: Branched) -> None:
    table = branched.make(3)
    # The rows that were deleted in partitions 0, 3 and 4 are in one file of deletion vectors.
    table.change("b", "update", 4)
    table.change("main", "update", 3)
    expected = table.rows("main") | {4: table.rows("b")[4]}
    rebase(table.spark, table.name, "b", table.base, None, "main", "7/publish/0.1")
    assert table.rows("main") == expected
    check_lineage(table)


@pytest.mark.slow
def test_writers_of_other_partitions_go_on_meanwhile_and_no_update_is_lost(branched: Branched) -> None:
    table = branched.make(3)
    for part in (1, 2):
        table.change("b", "overwrite", part)
        table.change("b", "update", part)
    branch, before = table.rows("b"), table.rows("main")

    def write(number: int) -> None:
        table.spark.sql(f"INSERT INTO {table.name} VALUES ({1000 + number}, {3 + number % 2}, 'beside')")

    with ThreadPoolExecutor(2) as pool:
        writes = [pool.submit(write, number) for number in range(6)]
        rebase(table.spark, table.name, "b", table.base, None, "main", "7/publish/0.1")
        for each in writes:
            each.result()

    after = table.rows("main")
    assert (after[0], after[1], after[2]) == (before[0], branch[1], branch[2])
    beside = Counter({(1000 + number, 3 + number % 2, "beside"): 1 for number in range(6)})
    assert after[3] + after[4] == before[3] + before[4] + beside
    check_lineage(table)


@pytest.mark.slow
def test_what_cannot_be_moved_as_files_is_refused(branched: Branched) -> None:
    table = branched.make(2)
    java = JavaTable(table.spark, table.name)
    java.delete_equal([{"id": 7}], partition={"part": 2})
    table.spark.sql(f"ALTER TABLE {table.name} CREATE BRANCH late")
    with pytest.raises(RefusedError) as refused:
        rebase(table.spark, table.name, "late", table.base, None, "b", "7/publish/0.1")
    assert refused.value.code == "REBASE_IMPOSSIBLE"
    assert "equality deletes" in refused.value.message

    with pytest.raises(RefusedError) as expired:
        rebase(table.spark, table.name, "late", 1, None, "b", "7/publish/0.1")
    assert expired.value.code == "REBASE_IMPOSSIBLE"


@pytest.mark.slow
def test_a_layout_that_changed_meanwhile_counts_as_a_conflict(branched: Branched) -> None:
    table = branched.make(2)
    table.change("b", "update", 1)
    table.spark.sql(f"ALTER TABLE {table.name} ADD PARTITION FIELD bucket(2, id)")
    table.change("main", "insert", 3)
    with pytest.raises(ConflictError) as refused:
        rebase(table.spark, table.name, "b", table.base, None, "main", "7/publish/0.1")
    assert refused.value.code == "MAIN_MOVED"


@pytest.mark.slow
def test_a_branch_of_a_table_without_snapshots_is_moved_as_well(branched: Branched) -> None:
    name = f"lake.{branched.namespace}.empty"
    spark = branched.spark
    spark.sql(f"CREATE TABLE {name} (id BIGINT, at TIMESTAMP) USING iceberg PARTITIONED BY (days(at))")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH b")
    spark.sql(f"INSERT INTO {name}.branch_b VALUES (1, TIMESTAMP '2024-01-01'), (2, TIMESTAMP '2024-01-02')")
    days = [{"at_day": "2024-01-01"}]
    first = rebase(spark, name, "b", None, days, "main", "7/publish/0.1")
    assert [row["id"] for row in spark.table(name).collect()] == [1]
    with pytest.raises(ConflictError):
        rebase(spark, name, "b", None, None, "main", "7/publish/0.2")
    assert rebase(spark, name, "b", None, [{"at_day": "2024-01-02"}], "main", "7/publish/0.2") != first
    assert sorted(row["id"] for row in spark.table(name).collect()) == [1, 2]
