"""Captures of runs that ended without a commit: released, or taken over if they wrote something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table

from calve.errors import ConflictError, RefusedError
from calve.lake import plan_changes
from calve.lake.model import Mode
from calve.ledger import writing
from calve.ledger.ledger import Ledger
from calve.ledger.writes import marker_of
from support.ledgers import added, append, code_of, make_ledger, make_table
from support.runs import Runs

pytestmark = pytest.mark.slow


@pytest.fixture
def runs(ledger: Ledger, table: Table) -> Runs:
    return Runs(ledger, "c", ["db.t"], make_table(ledger, "db.target"), Mode.APPEND)


def test_an_ended_run_that_wrote_nothing_gives_its_changes_to_the_next(runs: Runs, table: Table) -> None:
    append(table, 1)
    old = runs.capture("w/1/s")
    runs.begin(old.id, "write/0")
    append(table, 2)
    runs.end("w/1/s")
    new = runs.capture("w/2/s")
    assert added(new.changes) == [1, 2]
    released = runs.ledger.get(old.id).record
    assert released.status == "released"
    assert released.outcome is not None
    assert "w/1/s" in released.outcome["reason"]
    with pytest.raises(ConflictError) as error:
        runs.begin(old.id, "write/1")
    assert code_of(error) == "CAPTURE_NOT_OPEN"


def test_a_live_run_keeps_its_capture(runs: Runs, table: Table) -> None:
    append(table, 1)
    old = runs.capture("w/1/s")
    append(table, 2)
    assert added(runs.capture("w/2/s").changes) == [2]
    assert runs.capture("w/1/s").id == old.id


@pytest.mark.parametrize("how", ["noted", "marker", "joined", "branch"])
def test_what_has_landed_is_taken_over_as_it_is(runs: Runs, table: Table, how: str) -> None:
    append(table, 1)
    old = runs.capture("w/1/s")
    runs.begin(old.id, "write/0")
    if how == "noted":
        runs.note(old.id, "write/0", 1)
    elif how == "branch":
        base = runs.land("cap_other/write/0", [8])
        runs.target.refresh().manage_snapshots().create_branch(base, "audit").commit()
        runs.land(marker_of(old.id, "write/0"), [1], branch="audit")
    else:
        joined = {"marker": old.id, "joined": f"cap_other+{old.id}"}[how]
        runs.land(marker_of(joined, "write/0"), [1])
    append(table, 2)
    runs.end("w/1/s")
    assert runs.ledger.landed(old.id)
    new = runs.capture("w/2/s")
    assert new.id == old.id
    assert new.to_json() == old.to_json()
    assert new.record.run_ref == "w/2/s"
    with pytest.raises(ConflictError) as error:
        runs.ledger.commit(old.id, run_ref="w/1/s")
    assert code_of(error) == "CAPTURE_TAKEN_OVER"
    with pytest.raises(ConflictError) as error:
        runs.begin(old.id, "write/1", "w/1/s")
    assert code_of(error) == "CAPTURE_TAKEN_OVER"
    runs.ledger.commit(new.id, run_ref="w/2/s")
    runs.ledger.commit(new.id, run_ref="w/2/s")
    assert added(runs.capture("w/3/s").changes) == [2]


def test_of_several_the_oldest_that_landed_is_taken_over_and_the_others_go_on(
    runs: Runs, table: Table
) -> None:
    captures = []
    for number in range(4):
        append(table, number)
        captures.append(runs.capture(f"w/{number}/s"))
    for number in (1, 3):
        runs.begin(captures[number].id, "write/0")
        runs.note(captures[number].id, "write/0", 1)
    runs.live.clear()
    first = runs.capture("w/9/s")
    assert first.id == captures[1].id
    status = [runs.ledger.get(x.id).record.status.value for x in captures]
    assert status == ["released", "open", "released", "open"]
    runs.ledger.commit(first.id, run_ref="w/9/s")
    second = runs.capture("w/10/s")
    assert second.id == captures[3].id
    runs.ledger.commit(second.id)
    assert added(runs.capture("w/11/s").changes) == [0, 2]


def test_a_landed_capture_of_other_tables_stands_in_the_way(runs: Runs, table: Table) -> None:
    append(table, 1)
    make_table(runs.ledger, "db.u")
    old = runs.capture("w/1/s")
    runs.begin(old.id, "write/0")
    runs.note(old.id, "write/0", 1)
    runs.end("w/1/s")
    runs.tables.append("db.u")
    with pytest.raises(RefusedError) as error:
        runs.capture("w/2/s")
    assert code_of(error) == "CAPTURE_OPEN"
    assert old.id in error.value.remedy


def test_an_ended_run_that_had_nothing_to_process_is_not_taken_over(runs: Runs, table: Table) -> None:
    old = runs.capture("w/1/s")
    runs.begin(old.id, "write/0")
    runs.note(old.id, "write/0", 1)
    runs.end("w/1/s")
    append(table, 1)
    assert added(runs.capture("w/2/s").changes) == [1]


def test_of_two_that_take_over_at_once_one_wins_and_the_other_takes_what_is_left(
    runs: Runs, table: Table, home: Path, state_url: str
) -> None:
    append(table, 1)
    old = runs.capture("w/1/s")
    runs.begin(old.id, "write/0")
    runs.note(old.id, "write/0", 1)
    append(table, 2)
    runs.end("w/1/s")
    with make_ledger(home, state_url) as second:
        met: list[str] = []

        def has_ended(run: str) -> bool:
            if not met:
                met.append(run)
                taken = second.take(
                    ["db.t"], consumer="c", options=runs.options, run_ref="w/2/s", is_abandoned="w/1/s".__eq__
                )
                assert taken.id == old.id
            return run == "w/1/s"

        left = runs.ledger.take(
            ["db.t"], consumer="c", options=runs.options, run_ref="w/3/s", is_abandoned=has_ended
        )
    assert added(left.changes) == [2]


def test_a_write_that_lands_while_its_capture_is_being_released_is_not_lost(runs: Runs, table: Table) -> None:
    append(table, 1)
    old = runs.capture("w/1/s")
    runs.begin(old.id, "write/0")
    runs.end("w/1/s")

    def planning(*arguments: Any) -> Any:
        runs.note(old.id, "write/0", 1)
        return plan_changes(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "plan_changes", planning)
        new = runs.capture("w/2/s")
    assert new.id == old.id


def test_a_target_that_is_gone_has_nothing_that_landed(runs: Runs, table: Table) -> None:
    append(table, 1)
    old = runs.capture("w/1/s")
    runs.begin(old.id, "write/0")
    runs.ledger.lake.catalog("lake").drop_table("db.target")
    assert not runs.ledger.landed(old.id)
    runs.end("w/1/s")
    assert runs.capture("w/2/s").id != old.id


def test_the_captures_of_instances_are_found_whatever_became_of_them(runs: Runs, table: Table) -> None:
    append(table, 1)
    first = runs.capture("w_1/1/s")
    first.commit()
    append(table, 2)
    second = runs.capture("w_1/2/s")
    second.release()
    for stranger in ("wX1/1/s", "W_1/1/s", "w_1/12/s"):
        runs.capture(stranger)
    found = runs.ledger.captures_of_instances([("w_1", 1), ("w_1", 2)])
    assert [(x.id, x.status.value) for x in found] == [(first.id, "committed"), (second.id, "released")]
    assert runs.ledger.captures_of_instances([]) == []
