"""Under which captures a step runs, and what its statements are called there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calve.errors import RefusedError
from calve.ledger.ledger import Ledger
from calve.ledger.options import CaptureOptions
from calve.ledger.writes import note_begun, note_landed
from calve.settings import Settings, load_settings
from calve.spark.once.notes import Notes
from calve.spark.step.spec import StepSpec
from calve.state.clock import now_ms
from calve.steps.contract import Finished, StepContext
from calve.steps.incremental.naming import run_ref_of
from calve.steps.incremental.scope import StepCaptures, captures_of_step
from calve.steps.incremental.shared import close_ledgers, ledger_of
from calve.steps.writes import plan_writes, record_writes
from calve.steps.written import with_writes
from support.engine_rows import add_run, add_step, push_jobs, set_run, start
from support.ledgers import append, make_table

SCRIPT = """
CREATE TABLE IF NOT EXISTS lake.db.t (n BIGINT);
INSERT INTO lake.db.t SELECT * FROM changes;
INSERT INTO lake.db.u SELECT * FROM changes
"""


class Place:
    """A workflow with a capture step, in a home of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ledger: Ledger = ledger_of(settings)
        append(make_table(self.ledger, "db.source"), 1, 2)
        push_jobs(self.ledger.database, "w", "capture", "loop", "write")

    def run(self) -> int:
        key = start(self.ledger.database, "w").run
        set_run(self.ledger.database, key, status="IN_PROGRESS", created_at=now_ms())
        return key

    def inner(self, run: int, step_id: str, **columns: Any) -> int:
        key = add_run(self.ledger.database, run, parent_run=run, parent_step=step_id, **columns)
        add_step(self.ledger.database, run, step_id, "RUNNING")
        return key

    def capture(self, run: int, workflow_id: str = "w", instance_id: int = 1, consumer: str = "c") -> str:
        taken = self.ledger.take(
            ["lake.db.source"],
            consumer=consumer,
            options=CaptureOptions(),
            run_ref=run_ref_of(workflow_id, instance_id, "capture"),
        )
        told = json.dumps({"capture": taken.to_json()})
        add_step(self.ledger.database, run, "capture", "SUCCEEDED", artifacts=told)
        return taken.id

    def context(self, run: int, attempt: int = 1, **more: Any) -> StepContext:
        place = self.settings.home / "attempts" / str(run) / "write" / str(attempt)
        given: dict[str, Any] = {
            "workflow_id": "w",
            "instance_id": 1,
            "run_id": 1,
            "step_id": "write",
            **more,
        }
        return StepContext(
            attempt_id=attempt,
            run=run,
            attempt_uuid=f"{run}-{attempt}",
            params={},
            workflow_params={},
            own_params={},
            settings=self.settings,
            place=place,
            **given,
        )

    def look(self, run: int, **more: Any) -> StepCaptures | None:
        with self.ledger.database.read() as connection:
            return captures_of_step(connection, self.context(run, **more))


@pytest.fixture
def place(home: Path) -> Iterator[Place]:
    yield Place(load_settings(home))
    close_ledgers()


def test_without_a_capture_there_is_none(place: Place) -> None:
    run = place.run()
    assert place.look(run) is None
    assert plan_writes(place.context(run), SCRIPT) is None


def test_a_step_is_under_the_captures_of_its_run_and_of_those_around(place: Place) -> None:
    outer = place.run()
    first = place.capture(outer)
    iteration = place.inner(outer, "loop", workflow_id="inline", instance_id=7, inline=True)
    second = place.capture(iteration, "inline", 7, consumer="d")
    subworkflow = place.inner(iteration, "sub", workflow_id="other", instance_id=31, inline=False)
    found = place.look(subworkflow, workflow_id="other", instance_id=31)
    assert found is not None
    assert dict(found.scope.paths) == {second: "sub/write", first: "loop/7/sub/write"}


def test_the_first_attempt_of_a_first_run_is_known_as_such(place: Place) -> None:
    run = place.run()
    place.capture(run)
    first = place.look(run)
    assert first is not None
    assert first.is_new
    again = place.look(run, attempt=2)
    assert again is not None
    assert not again.is_new
    plan = plan_writes(place.context(run), SCRIPT)
    assert plan is not None
    assert not plan.may_have_landed
    assert list(plan.script) == ["2", "3"]
    begun = place.look(run)
    assert begun is not None
    assert not begun.is_new
    script = plan_writes(place.context(run), None)
    assert script is not None
    assert script.may_have_landed


def test_a_restarted_run_has_the_same_names(place: Place) -> None:
    run = place.run()
    capture = place.capture(run)
    again = add_run(place.ledger.database, run, run_id=2, uuid="again")
    told = json.dumps({"capture": {"capture_id": capture}})
    add_step(place.ledger.database, again, "capture", "SUCCEEDED", artifacts=told, carried=True)
    found = place.look(again, run_id=2)
    assert found is not None
    assert found.scope.prefix == f"{capture}/write"
    assert not found.is_new


def test_what_a_process_noted_gets_into_the_ledger_and_to_the_next_attempt(place: Place) -> None:
    run = place.run()
    capture = place.capture(run)
    context = place.context(run)
    plan = plan_writes(context, SCRIPT)
    assert plan is not None
    StepSpec(
        attempt="a",
        folder=str(context.folder),
        log="",
        session="embedded",
        search="",
        home="",
        once=plan.to_json(),
    ).write()
    notes = Notes(context.folder)
    notes.begin("2", "lake.db.t", "hash")
    notes.land("2", 4711)
    notes.begin("3", "lake.db.u", "other")
    # The engine died: the next attempt finds the notes.
    later = plan_writes(place.context(run, 2), SCRIPT)
    assert later is not None
    assert later.may_have_landed
    assert {name: noted.snapshot_id for name, noted in later.noted.items()} == {"2": 4711, "3": None}
    finished = with_writes(Finished.done(), record_writes(context))
    assert [(signal.name, signal.params) for signal in finished.signals] == [
        ("table:lake.db.t", {"snapshot_id": 4711})
    ]
    assert finished.artifacts["writes"][0]["target"] == "lake.db.t"
    assert place.ledger.landed(capture)


def test_after_the_commit_a_step_is_under_the_capture_only_if_it_was_before(place: Place) -> None:
    run = place.run()
    capture = place.capture(run)
    with place.ledger.database.write() as connection:
        note_begun(connection, capture, "write/1", "lake.db.t", "hash")
        note_landed(connection, capture, "write/1", 5)
    place.ledger.commit(capture)
    assert place.look(run, step_id="report") is None
    found = place.look(run)
    assert found is not None
    assert found.scope.captures == (capture,)
    plan = plan_writes(place.context(run), SCRIPT)
    assert plan is not None
    assert plan.may_have_landed


def test_under_a_released_capture_nothing_runs(place: Place) -> None:
    run = place.run()
    place.ledger.release(place.capture(run), "somebody said so")
    with pytest.raises(RefusedError, match="somebody said so") as refused:
        plan_writes(place.context(run), SCRIPT)
    assert refused.value.code == "CAPTURE_RELEASED"


def test_under_a_capture_that_another_run_has_taken_over_nothing_runs(place: Place) -> None:
    run = place.run()
    capture = place.capture(run)
    with place.ledger.database.write() as connection:
        note_begun(connection, capture, "write/1", "lake.db.t", "hash")
        note_landed(connection, capture, "write/1", 5)
    set_run(place.ledger.database, run, status="FAILED")
    taken = place.ledger.take(
        ["lake.db.source"],
        consumer="c",
        options=CaptureOptions(),
        run_ref=run_ref_of("w", 2, "capture"),
        is_abandoned=lambda _: True,
    )
    assert taken.id == capture
    with pytest.raises(RefusedError, match="w/2/capture") as refused:
        plan_writes(place.context(run), SCRIPT)
    assert refused.value.code == "CAPTURE_TAKEN_OVER"


def test_who_found_a_capture_abandoned_looks_again_if_a_step_has_begun_since(place: Place) -> None:
    run = place.run()
    capture = place.capture(run)
    asked: list[str] = []

    def is_abandoned(run_ref: str) -> bool:
        # Between the look and the decision the run is restarted, and its script begins.
        asked.append(run_ref)
        if len(asked) == 1:
            plan_writes(place.context(run, run_id=2), None)
        return len(asked) == 1

    other = place.ledger.take(
        ["lake.db.source"],
        consumer="c",
        options=CaptureOptions(),
        run_ref=run_ref_of("w", 2, "capture"),
        is_abandoned=is_abandoned,
    )
    assert other.id != capture
    assert not other.has_changes
    assert place.look(run) is not None
    assert len(asked) == 2
