"""History that is no straight line: bounds, rollbacks, replaced tables, expired snapshots."""

from __future__ import annotations

from collections import Counter

import pytest

from calve.errors import CalveError, NotFoundError, RefusedError, UsageError
from calve.lake import Mode, open_table, verify_changes
from support.lake_table import MERGE_ON_READ, LakeTable
from support.spark import session_conf

from .conftest import MakeTable

APPEND_AND_LOG = pytest.mark.parametrize("mode", [Mode.APPEND, Mode.LOG])


def refusal(table: LakeTable, mode: Mode, start: int | None, end: int | None = None) -> str:
    with pytest.raises(CalveError) as refused:
        table.capture(mode, start, end)
    assert isinstance(refused.value, UsageError)
    return refused.value.code


def expire(table: LakeTable, *snapshots: int) -> None:
    ids = ", ".join(str(snapshot) for snapshot in snapshots)
    table.call(
        "expire_snapshots", f"snapshot_ids => array({ids}), older_than => TIMESTAMP '2000-01-01 00:00:00'"
    )
    assert not set(snapshots) & set(table.snapshot_ids)


# Bounds


def test_branches_and_tags_are_bounds(make_table: MakeTable) -> None:
    table = make_table()
    first = table.insert("(1, 'a')")
    table.sql(f"ALTER TABLE {table} CREATE TAG one")
    table.sql(f"ALTER TABLE {table} CREATE BRANCH side")
    table.sql(f"INSERT INTO {table}.branch_side VALUES (2, 'b')")
    table.insert("(3, 'c')")
    metadata = table.source.metadata
    start, end = metadata.resolve("one"), metadata.resolve("side")

    assert start == first
    assert end == metadata.current_snapshot_id("side")
    assert table.after(table.check_net(start, end)) == Counter([(2, "b")])
    assert table.after(table.appended(start, end)) == Counter([(2, "b")])


def test_two_branches_can_be_compared(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')")
    table.sql(f"ALTER TABLE {table} CREATE BRANCH side")
    table.sql(f"INSERT INTO {table}.branch_side VALUES (2, 'b')")
    main = table.insert("(3, 'c')")
    side = table.source.metadata.resolve("side")
    changes = table.check_net(main, side)

    assert table.difference(changes) == (Counter([(2, "b")]), Counter([(3, "c")]))
    assert refusal(table, Mode.APPEND, main, end=side) == "HISTORY_REWRITTEN"


def test_unknown_bounds_are_named(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')")

    for unknown in ("nowhere", "12345", 12345):
        with pytest.raises(NotFoundError) as missing:
            table.source.metadata.resolve(unknown)
        assert missing.value.code == "SNAPSHOT_NOT_FOUND"


@pytest.mark.parametrize("mode", list(Mode))
def test_reversed_range_is_refused(make_table: MakeTable, mode: Mode) -> None:
    table = make_table()
    first = table.insert("(1, 'a')")
    second = table.insert("(2, 'b')")

    assert refusal(table, mode, second, end=first) == "RANGE_REVERSED"


def test_empty_range_has_no_changes(make_table: MakeTable) -> None:
    table = make_table()
    head = table.insert("(1, 'a')")

    for mode in Mode:
        changes = table.capture(mode, head)
        assert not changes.has_changes
        assert table.after(changes) == Counter()


# Rollback, cherry-pick, fast-forward


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_rolled_back_rows_went(make_table: MakeTable, format_version: int) -> None:
    table = make_table(format_version=format_version)
    first = table.insert("(1, 'a')")
    consumed = table.insert("(2, 'b')")
    table.call("rollback_to_snapshot", f"snapshot_id => {first}")
    table.insert("(3, 'c')")
    changes = table.check_net(consumed)

    assert table.difference(changes) == (Counter([(3, "c")]), Counter([(2, "b")]))


@APPEND_AND_LOG
def test_append_and_log_refuse_a_rolled_back_start(make_table: MakeTable, mode: Mode) -> None:
    table = make_table()
    first = table.insert("(1, 'a')")
    consumed = table.insert("(2, 'b')")
    table.call("rollback_to_snapshot", f"snapshot_id => {first}")
    table.insert("(3, 'c')")

    assert refusal(table, mode, consumed) == "HISTORY_REWRITTEN"


def test_cherry_picked_rows_come_once(make_table: MakeTable) -> None:
    table = make_table(write_wap_enabled="true")
    start = table.insert("(1, 'a')")
    with session_conf(table.spark, {"spark.wap.id": "staged"}):
        table.sql(f"INSERT INTO {table} VALUES (2, 'b')")
    staged = table.snapshot_ids[-1]
    table.insert("(3, 'c')")
    assert table.after(table.check_net(start)) == Counter([(3, "c")])
    table.call("cherrypick_snapshot", f"snapshot_id => {staged}")

    expected = Counter([(2, "b"), (3, "c")])
    assert table.after(table.check_net(start)) == expected
    assert table.after(table.appended(start)) == expected
    assert table.difference(table.check_net(staged))[0] == Counter([(3, "c")])


def test_fast_forward_brings_the_snapshots_of_the_branch(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.sql(f"ALTER TABLE {table} CREATE BRANCH side")
    table.sql(f"INSERT INTO {table}.branch_side VALUES (2, 'b')")
    table.sql(f"INSERT INTO {table}.branch_side VALUES (3, 'c')")
    table.call("fast_forward", "branch => 'main', to => 'side'")
    changes = table.appended(start)

    assert table.after(changes) == Counter([(2, "b"), (3, "c")])
    assert changes.operations == {"append": 2}


# The table under its name is another one


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_replaced_table_is_compared_with_what_it_was(make_table: MakeTable, format_version: int) -> None:
    table = make_table(format_version=format_version)
    start = table.insert("(1, 'a')", "(2, 'b')")
    uuid = table.source.uuid
    table.sql(
        f"CREATE OR REPLACE TABLE {table} USING iceberg TBLPROPERTIES ('format-version'='{format_version}')"
        " AS SELECT * FROM VALUES (2L, 'b'), (3L, 'c') AS t(id, name)"
    )
    assert table.source.uuid == uuid
    changes = table.check_net(start)

    assert table.difference(changes) == (Counter([(3, "c")]), Counter([(1, "a")]))
    assert changes.row_filter is None
    assert refusal(table, Mode.APPEND, start) == "HISTORY_REWRITTEN"


def test_replaced_table_with_other_columns_can_be_read_on_both_sides(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.sql(
        f"CREATE OR REPLACE TABLE {table} USING iceberg AS SELECT * FROM VALUES ('x', 2.5D) AS t(id, amount)"
    )
    changes = table.net(start)

    assert table.after(changes) == Counter([("x", 2.5)])
    assert table.before(changes) == Counter([(1, "a")])


def test_renamed_table_goes_on(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    uuid = table.source.uuid
    table.sql(f"ALTER TABLE {table} RENAME TO {table.name.split('.', 1)[1]}_new")
    renamed = LakeTable(table.spark, table.lake, f"{table}_new")
    renamed.insert("(2, 'b')")

    assert renamed.source.uuid == uuid
    assert renamed.after(renamed.check_net(start)) == Counter([(2, "b")])
    with pytest.raises(NotFoundError) as gone:
        open_table(table.lake, table.name)
    assert gone.value.code == "TABLE_NOT_FOUND"


def test_table_that_was_dropped_and_created_again_is_another_one(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    uuid = table.source.uuid
    table.sql(f"DROP TABLE {table}")
    table.sql(f"CREATE TABLE {table} (id bigint, name string) USING iceberg")
    table.insert("(2, 'b')")

    assert table.source.uuid != uuid
    assert refusal(table, Mode.NET, start) == "HISTORY_EXPIRED"


# Expired snapshots


def test_net_is_exact_over_expired_middle_snapshots(make_table: MakeTable) -> None:
    table = make_table(**MERGE_ON_READ)
    start = table.insert("(1, 'a')", "(2, 'b')")
    middle = table.insert("(3, 'c')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    other = table.head
    table.insert("(4, 'd')")
    expire(table, middle, other)
    changes = table.check_net(start)

    assert table.difference(changes)[1] == Counter([(1, "a")])


@APPEND_AND_LOG
def test_append_and_log_refuse_a_gap(make_table: MakeTable, mode: Mode) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    middle = table.insert("(2, 'b')")
    table.insert("(3, 'c')")
    expire(table, middle)

    assert refusal(table, mode, start) == "HISTORY_EXPIRED"


@pytest.mark.parametrize("mode", list(Mode))
def test_expired_start_is_no_loss_where_the_rest_only_appends(make_table: MakeTable, mode: Mode) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.insert("(2, 'b')")
    table.insert("(3, 'c')")
    expire(table, start)
    changes = table.capture(mode, start)

    if mode is not Mode.LOG:
        assert table.after(changes) == Counter([(2, "b"), (3, "c")])
    assert changes.records == 2


@pytest.mark.parametrize("mode", [Mode.NET, Mode.LOG])
def test_expired_start_is_refused_where_rows_went(make_table: MakeTable, mode: Mode) -> None:
    table = make_table()
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    table.insert("(3, 'c')")
    expire(table, start)

    assert refusal(table, mode, start) == "HISTORY_EXPIRED"


@pytest.mark.parametrize("mode", list(Mode))
def test_start_and_its_child_expired_is_refused(make_table: MakeTable, mode: Mode) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    child = table.insert("(2, 'b')")
    table.insert("(3, 'c')")
    expire(table, start, child)

    assert refusal(table, mode, start) == "HISTORY_EXPIRED"


def test_expired_end_is_not_found(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    end = table.insert("(2, 'b')")
    table.insert("(3, 'c')")
    expire(table, end)

    assert refusal(table, Mode.NET, start, end=end) == "SNAPSHOT_NOT_FOUND"


@pytest.mark.parametrize("mode", list(Mode))
def test_beginning_of_a_truncated_history_is_its_oldest_state(make_table: MakeTable, mode: Mode) -> None:
    table = make_table(**MERGE_ON_READ)
    first = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    table.insert("(3, 'c')")
    expire(table, first)
    changes = table.capture(mode, None)

    if mode is Mode.LOG:
        assert len(changes.steps) == 2
    else:
        assert table.after(changes) == Counter([(2, "b"), (3, "c")])


def test_files_that_vanish_after_the_capture_are_noticed(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    captured = table.insert("(2, 'b')")
    changes = table.net(start)
    verify_changes(table.lake, changes)
    table.compact()
    expire(table, captured)

    with pytest.raises(RefusedError) as gone:
        verify_changes(table.lake, changes)
    assert gone.value.code == "FILES_EXPIRED"


def test_expiry_that_leaves_the_files_is_fine(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    captured = table.insert("(2, 'b')")
    changes = table.net(start)
    table.insert("(3, 'c')")
    expire(table, start, captured)

    verify_changes(table.lake, changes)
    assert table.after(changes) == Counter([(2, "b")])


def test_snapshot_that_expires_between_plan_and_write_is_noticed(make_table: MakeTable) -> None:
    from calve.lake import ChangeRequest, Segment, plan_changes, write_changes
    from calve.settings import IcdcSettings

    table = make_table()
    start = table.insert("(1, 'a')")
    end = table.insert("(2, 'b')")
    plan = plan_changes(table.source, ChangeRequest(Mode.NET, (Segment(start, end),)))
    table.insert("(3, 'c')")
    expire(table, start)

    with pytest.raises(CalveError) as gone:
        write_changes(plan, IcdcSettings())
    assert gone.value.code in ("FILES_EXPIRED", "METADATA_MISSING")
