"""A capture that dies on its way, and one that cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table
from sqlalchemy import func, select

from calve.errors import CalveError, CorruptError, RefusedError
from calve.lake import open_table, plan_changes
from calve.ledger import renamed, writing
from calve.ledger.ledger import Ledger
from calve.state.schema import captures, chains, position_events, sources
from support.faults import Died, break_write, die_after, die_before, fail_before
from support.ledgers import added, append, head, make_ledger

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("dying", [die_before, die_after])
def test_a_capture_that_died_is_finished_by_the_next_request(
    ledger: Ledger, table: Table, home: Path, state_url: str, dying: Any
) -> None:
    first = append(table, 1)
    with pytest.MonkeyPatch.context() as patch:
        break_write(patch, dying)
        with pytest.raises(Died):
            ledger.capture("db.t", consumer="c", range_columns=["id"])
    append(table, 2)
    with make_ledger(home, state_url) as restarted:
        capture = restarted.capture("db.t", consumer="c", range_columns=["id"])
        assert capture.to_snapshot_id == first
        assert added(capture.changes) == [1]
        assert restarted.capture("db.t", consumer="c").id == capture.id
        capture.commit()
        assert added(restarted.capture("db.t", consumer="c").changes) == [2]


def test_a_capture_that_died_cannot_be_committed(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    with pytest.MonkeyPatch.context() as patch:
        break_write(patch, die_after)
        with pytest.raises(Died):
            ledger.capture("db.t", consumer="c")
    (checkpoint,) = ledger.checkpoints()
    (reserved,) = checkpoint.open_captures
    with pytest.raises(CalveError) as error:
        ledger.commit(reserved.id)
    assert error.value.code == "CAPTURE_NOT_READY"


def test_a_capture_that_died_and_cannot_be_finished_makes_room(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    with pytest.MonkeyPatch.context() as patch:
        break_write(patch, die_before)
        with pytest.raises(Died):
            ledger.capture("db.t", consumer="c", mode="net")
    table.refresh().overwrite(table.scan().to_arrow().slice(0, 0))
    append(table.refresh(), 2)
    table.refresh().maintenance.expire_snapshots().by_id(first).commit()
    capture = ledger.capture("db.t", consumer="c", mode="net")
    assert added(capture.changes) == [2]


def test_a_failed_write_is_remembered_and_holds_nothing(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    append(table, 2)
    with pytest.MonkeyPatch.context() as patch:
        break_write(patch, fail_before)
        with pytest.raises(CorruptError):
            ledger.capture("db.t", consumer="c")
    with ledger._database.read() as connection:
        failed = connection.execute(select(captures).where(captures.c.status == "failed")).one()
    assert "MANIFEST_CORRUPT" in failed.outcome
    assert ledger.checkpoints()[0].open_captures == ()
    assert added(ledger.capture("db.t", consumer="c").changes) == [2]


def test_a_first_capture_that_fails_leaves_no_position(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    with pytest.MonkeyPatch.context() as patch:
        break_write(patch, fail_before)
        with pytest.raises(CorruptError):
            ledger.capture("db.t", consumer="c", start_from="latest")
    assert ledger.checkpoints() == []
    assert added(ledger.capture("db.t", consumer="c", start_from="earliest").changes) == [1]


def test_of_two_that_finish_one_capture_the_first_stands(
    ledger: Ledger, table: Table, home: Path, state_url: str
) -> None:
    """The second finds the reservation while the first still writes."""
    append(table, 1)
    with make_ledger(home, state_url) as second:
        found: list[str] = []

        def meet(real: Callable[..., Any]) -> Callable[..., Any]:
            def writing(*arguments: Any) -> Any:
                if not found:
                    found.append("")
                    found[0] = second.capture("db.t", consumer="c").id
                return real(*arguments)

            return writing

        with pytest.MonkeyPatch.context() as patch:
            break_write(patch, meet)
            capture = ledger.capture("db.t", consumer="c")
        assert found == [capture.id]
        assert added(capture.changes) == [1]


def test_a_capture_that_is_taken_away_while_it_is_written_starts_over(
    ledger: Ledger, table: Table, home: Path, state_url: str
) -> None:
    first = append(table, 1)
    append(table, 2)
    with make_ledger(home, state_url) as second:

        def take_away(real: Callable[..., Any]) -> Callable[..., Any]:
            calls: list[None] = []

            def writing(*arguments: Any) -> Any:
                calls.append(None)
                if len(calls) == 1:
                    second.set_checkpoint("db.t", consumer="c", snapshot=first, force=True)
                return real(*arguments)

            return writing

        with pytest.MonkeyPatch.context() as patch:
            break_write(patch, take_away)
            capture = ledger.capture("db.t", consumer="c")
    assert added(capture.changes) == [2]


def test_a_position_that_moves_while_a_capture_is_planned_is_read_again(
    ledger: Ledger, table: Table, home: Path, state_url: str
) -> None:
    append(table, 1)
    with make_ledger(home, state_url) as second:
        real = plan_changes
        met: list[str] = []

        def planning(*arguments: Any) -> Any:
            if not met:
                met.append("")
                met[0] = second.capture("db.t", consumer="c").id
            return real(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writing, "plan_changes", planning)
            capture = ledger.capture("db.t", consumer="c")
    assert [capture.id] == met


def test_a_head_that_was_read_before_another_capture_is_not_taken_for_a_rollback(
    ledger: Ledger, table: Table, home: Path, state_url: str
) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="c", mode="net").commit()
    with make_ledger(home, state_url) as second:
        opened: list[str] = []

        def opening(lake: Any, name: str) -> Any:
            found = open_table(lake, name)
            if not opened:
                opened.append(name)
                append(table, 2)
                second.capture("db.t", consumer="c", mode="net").commit()
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(renamed, "open_table", opening)
            capture = ledger.capture("db.t", consumer="c", mode="net")
    assert not capture.has_changes
    assert capture.from_snapshot_id == capture.to_snapshot_id == head(table)


def test_a_refused_request_stores_nothing(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    table.refresh().delete("id = 1")
    asks: list[dict[str, Any]] = [
        {"on_other": "fail"},
        {"range_columns": ["absent"]},
        {"branch": "absent"},
        {"start_from": "absent"},
    ]
    for ask in asks:
        with pytest.raises(CalveError):
            ledger.capture("db.t", consumer="c", **ask)
    with ledger._database.read() as connection:
        for kept in (captures, chains, sources, position_events):
            assert connection.execute(select(func.count()).select_from(kept)).scalar_one() == 0


def test_a_capture_whose_files_are_gone_is_not_handed_out_again(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    (task,) = table.refresh().scan().plan_files()
    table.refresh().delete("id = 1")
    snapshots = [snapshot.snapshot_id for snapshot in table.refresh().snapshots()[:-1]]
    table.maintenance.expire_snapshots().by_ids(snapshots).commit()
    Path(task.file.file_path.removeprefix("file://")).unlink()
    with pytest.raises(RefusedError) as error:
        ledger.capture("db.t", consumer="c")
    assert error.value.code == "FILES_EXPIRED"
    assert f"calve release {capture.id}" in error.value.remedy
    with pytest.raises(RefusedError) as error:
        ledger.verify(capture.id)
    assert error.value.code == "FILES_EXPIRED"
