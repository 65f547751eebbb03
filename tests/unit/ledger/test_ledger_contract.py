"""What a ledger promises, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyiceberg.table import Table

from calve.errors import ConflictError, NotFoundError, RefusedError, UsageError
from calve.ledger.ledger import Ledger
from support.ledgers import added, append, code_of, make_ledger, make_table

pytestmark = pytest.mark.slow

# Rule 1: a capture covers what is not accounted for


def test_the_first_capture_covers_everything(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    last = append(table, 2, 3)
    capture = ledger.capture("db.t", consumer="c")
    assert (capture.from_snapshot_id, capture.to_snapshot_id) == (None, last)
    assert capture.has_changes
    assert added(capture.changes) == [1, 2, 3]


def test_the_next_capture_starts_where_the_commit_ended(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    second = append(table, 2)
    capture = ledger.capture("db.t", consumer="c")
    assert (capture.from_snapshot_id, capture.to_snapshot_id) == (first, second)
    assert added(capture.changes) == [2]


def test_consumers_do_not_know_each_other(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="a").commit()
    assert added(ledger.capture("db.t", consumer="b").changes) == [1]


@pytest.mark.parametrize("mode", ["append", "net"])
def test_parallel_captures_are_disjoint(ledger: Ledger, table: Table, mode: str) -> None:
    append(table, 1)
    one = ledger.capture("db.t", consumer="c", mode=mode)
    append(table, 2)
    two = ledger.capture("db.t", consumer="c", mode=mode, parallel=True)
    assert two.id != one.id
    assert (added(one.changes), added(two.changes)) == ([1], [2])


def test_the_captures_of_a_run_are_its_own(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    one = ledger.capture("db.t", consumer="c", run_ref="run/1")
    append(table, 2)
    two = ledger.capture("db.t", consumer="c", run_ref="run/2")
    assert added(two.changes) == [2]
    assert ledger.capture("db.t", consumer="c", run_ref="run/1").id == one.id
    assert ledger.capture("db.t", consumer="c", run_ref="run/2").id == two.id


# Rule 2: commits


def test_a_commit_can_be_repeated(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    once = ledger.commit(capture.id).to_json()
    assert ledger.commit(capture.id).to_json() == once
    assert once["status"] == "committed"


def test_commits_out_of_order_leave_a_gap_until_it_is_processed(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    one = ledger.capture("db.t", consumer="c")
    second = append(table, 2)
    two = ledger.capture("db.t", consumer="c", parallel=True)
    two.commit()
    (checkpoint,) = ledger.checkpoints(consumer="c")
    assert checkpoint.to_json()["snapshot_id"] is None
    assert checkpoint.to_json()["committed_ahead"] == [[one.to_snapshot_id, second]]
    one.commit()
    assert ledger.checkpoints(consumer="c")[0].to_json()["snapshot_id"] == second


def test_a_released_stretch_comes_back_with_the_tail_in_append_mode(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    one = ledger.capture("db.t", consumer="c")
    append(table, 2)
    two = ledger.capture("db.t", consumer="c", parallel=True)
    append(table, 3)
    one.release()
    three = ledger.capture("db.t", consumer="c", parallel=True)
    assert len(three.segments) == 2
    assert added(three.changes) == [1, 3]
    two.commit()
    three.commit()
    assert not ledger.capture("db.t", consumer="c").has_changes


def test_a_released_stretch_comes_back_alone_in_net_mode(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    one = ledger.capture("db.t", consumer="c", mode="net")
    append(table, 2)
    ledger.capture("db.t", consumer="c", mode="net", parallel=True)
    append(table, 3)
    one.release()
    first = ledger.capture("db.t", consumer="c", mode="net", parallel=True)
    second = ledger.capture("db.t", consumer="c", mode="net", parallel=True)
    assert (added(first.changes), added(second.changes)) == ([1], [3])


def test_one_commit_settles_all_tables(ledger: Ledger, table: Table) -> None:
    other = make_table(ledger, "db.u")
    append(table, 1)
    append(other, 10)
    capture = ledger.capture("db.t", "db.u", consumer="c")
    assert [added(changes) for changes in capture.sources] == [[1], [10]]
    assert [source["table"] for source in capture.to_json()["sources"]] == ["lake.db.t", "lake.db.u"]
    capture.commit()
    again = ledger.capture("db.t", "db.u", consumer="c")
    assert not any(changes.has_changes for changes in again.sources)


def test_a_released_capture_cannot_be_committed(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    assert capture.release().to_json() == ledger.release(capture.id).to_json()
    with pytest.raises(ConflictError) as error:
        capture.commit()
    assert code_of(error) == "CAPTURE_RELEASED"


def test_a_committed_capture_cannot_be_released(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    capture.commit()
    with pytest.raises(ConflictError) as error:
        capture.release()
    assert code_of(error) == "CAPTURE_COMMITTED"


def test_a_capture_that_nobody_made_is_not_found(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError) as error:
        ledger.commit("cap_0")
    assert code_of(error) == "CAPTURE_NOT_FOUND"


# Rule 3: asking again


def test_asking_again_gives_the_same_capture_also_after_new_snapshots(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    one = ledger.capture("db.t", consumer="c").to_json()
    append(table, 2)
    assert ledger.capture("db.t", consumer="c").to_json() == one


def test_asking_again_from_another_process_gives_the_same_capture(
    ledger: Ledger, table: Table, home: Path, state_url: str
) -> None:
    append(table, 1)
    one = ledger.capture("db.t", consumer="c").to_json()
    with make_ledger(home, state_url) as restarted:
        assert restarted.capture("db.t", consumer="c").to_json() == one


def test_asking_again_may_ask_for_more_ranges(ledger: Ledger, table: Table) -> None:
    append(table, 1, 5)
    one = ledger.capture("db.t", consumer="c", range_columns=["value"])
    append(table, 9)
    again = ledger.capture("db.t", consumer="c", range_columns=["id"])
    assert again.id == one.id
    assert set(again.ranges) == {"value", "id"}
    assert (again.ranges["id"].lower, again.ranges["id"].upper) == (1, 5)
    assert added(again.changes) == [1, 5]


def test_asking_again_for_something_else_is_refused(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    make_table(ledger, "db.u")
    ledger.capture("db.t", consumer="c")
    for ask in ({"mode": "net"}, {"on_other": "fail"}):
        with pytest.raises(RefusedError) as error:
            ledger.capture("db.t", consumer="c", **ask)  # type: ignore[arg-type]
        assert code_of(error) == "CAPTURE_OPEN"
    with pytest.raises(RefusedError) as error:
        ledger.capture("db.t", "db.u", consumer="c")
    assert code_of(error) == "CAPTURE_OPEN"


def test_nothing_new_is_a_capture_that_is_reused(ledger: Ledger, table: Table) -> None:
    last = append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    nothing = ledger.capture("db.t", consumer="c")
    assert not nothing.has_changes
    assert (nothing.from_snapshot_id, nothing.to_snapshot_id) == (last, last)
    assert added(nothing.changes) == []
    assert ledger.capture("db.t", consumer="c").id == nothing.id
    assert ledger.capture("db.t", consumer="c", parallel=True).id == nothing.id
    assert nothing.commit().to_json()["status"] == "committed"


def test_nothing_new_does_not_stand_in_the_way_of_what_comes(ledger: Ledger, table: Table) -> None:
    nothing = ledger.capture("db.t", consumer="c")
    assert nothing.to_snapshot_id is None
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    assert added(capture.changes) == [1]
    assert ledger.get(nothing.id).record.status == "released"


def test_a_change_without_rows_does_not_stand_in_the_way_either(ledger: Ledger, table: Table) -> None:
    """Append mode shows no rows of a delete; a consumer that skips such captures must go on."""
    append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    table.refresh().delete("id = 1")
    skipped = ledger.capture("db.t", consumer="c")
    assert not skipped.has_changes
    assert skipped.skipped_operations == {"delete": 1}
    assert ledger.capture("db.t", consumer="c").id == skipped.id
    append(table.refresh(), 2)
    capture = ledger.capture("db.t", consumer="c")
    assert capture.id != skipped.id
    assert capture.skipped_operations == {"delete": 1}
    assert added(capture.changes) == [2]


# Rule 4: history that was rewritten


def test_a_rollback_is_refused_in_append_mode_and_exact_in_net_mode(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    append(table, 2)
    for consumer in ("append", "net"):
        ledger.capture("db.t", consumer=consumer, mode=consumer).commit()
    table.refresh().manage_snapshots().rollback_to_snapshot(first).commit()
    with pytest.raises(RefusedError) as error:
        ledger.capture("db.t", consumer="append")
    assert code_of(error) == "HISTORY_REWRITTEN"
    assert "checkpoint" in error.value.remedy
    capture = ledger.capture("db.t", consumer="net", mode="net")
    assert capture.to_snapshot_id == first
    assert capture.removed_records == 1


def test_a_table_that_was_created_again_is_refused(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    ledger.lake.catalog("lake").drop_table("db.t")
    again = make_table(ledger)
    append(again, 2)
    with pytest.raises(RefusedError) as error:
        ledger.capture("db.t", consumer="c")
    assert code_of(error) == "TABLE_RECREATED"
    assert "calve checkpoint reset" in error.value.remedy
    (behind,) = ledger.lag()
    assert behind.error is not None
    ledger.reset_checkpoint("db.t", consumer="c")
    assert added(ledger.capture("db.t", consumer="c").changes) == [2]


def test_a_checkpoint_can_be_set_on_a_table_that_was_created_again(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    ledger.lake.catalog("lake").drop_table("db.t")
    append(make_table(ledger), 2)
    ledger.set_checkpoint("db.t", consumer="c", snapshot="latest")
    assert len(ledger.checkpoints()) == 1
    assert not ledger.capture("db.t", consumer="c").has_changes


def test_the_position_follows_a_renamed_table(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    append(table, 2)
    open_one = ledger.capture("db.t", consumer="c")
    ledger.lake.catalog("lake").rename_table("db.t", "db.renamed")
    assert ledger.capture("db.renamed", consumer="c").id == open_one.id
    open_one.commit()
    renamed = ledger.lake.catalog("lake").load_table("db.renamed")
    append(renamed, 3)
    assert added(ledger.capture("db.renamed", consumer="c").changes) == [3]
    assert ledger.checkpoints()[0].position.table_name == "lake.db.renamed"


def test_branches_have_positions_of_their_own(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    table.refresh().manage_snapshots().create_branch(first, "audit").commit()
    ledger.capture("db.t", consumer="c").commit()
    append(table.refresh(), 2)
    on_branch = ledger.capture("db.t", consumer="c", branch="audit")
    assert added(on_branch.changes) == [1]
    assert added(ledger.capture("db.t", consumer="c").changes) == [2]


# Where a consumer starts


def test_a_first_capture_can_start_anywhere(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    second = append(table, 2)
    moment = table.refresh().snapshot_by_id(first)
    assert moment is not None
    table.manage_snapshots().create_tag(first, "v1").commit()
    iso = datetime.fromtimestamp(moment.timestamp_ms / 1000, tz=UTC)
    starts: dict[str, list[int]] = {
        "earliest": [1, 2],
        "latest": [],
        str(first): [2],
        "v1": [2],
        "1999-01-01": [1, 2],
        iso.isoformat(timespec="milliseconds"): [2],
    }
    for number, (start, expected) in enumerate(starts.items()):
        capture = ledger.capture("db.t", consumer=f"c{number}", start_from=start)
        assert (added(capture.changes), capture.to_snapshot_id) == (expected, second), start


def test_a_start_is_refused_once_something_is_committed(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="c", start_from="earliest").commit()
    with pytest.raises(UsageError) as error:
        ledger.capture("db.t", consumer="c", start_from="latest")
    assert code_of(error) == "CHECKPOINT_EXISTS"


def test_a_start_may_be_repeated_until_something_is_committed(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    nothing = ledger.capture("db.t", consumer="c", start_from="latest")
    assert ledger.capture("db.t", consumer="c", start_from="latest").id == nothing.id
    append(table, 2)
    capture = ledger.capture("db.t", consumer="c", start_from="latest")
    assert added(capture.changes) == [2], "the start is that of the first try"
    with pytest.raises(UsageError) as error:
        ledger.capture("db.t", consumer="c", start_from="earliest")
    assert code_of(error) == "CHECKPOINT_EXISTS"
    capture.release()
    assert added(ledger.capture("db.t", consumer="c", start_from="earliest").changes) == [1, 2]
