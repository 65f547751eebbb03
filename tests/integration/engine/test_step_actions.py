"""What people do to single steps, and what is refused."""

from __future__ import annotations

import json

import pytest

from calve.engine.model.commands import Command
from calve.errors import CalveError
from calve.state.orchestration import events
from calve.workflow.params import ParamDefinition
from support.engine_probe import GATES
from support.engine_runs import AUTHOR, EngineRuns, flow, noop, probe

CHAIN = (noop("a"), probe("b", gate="g"), noop("c"))
FIRST_RUN_FAILS = "params.getFromInstance('workflow_run_id') == 1 ? 'FATAL_ERROR' : 'DONE'"


def test_skipping_a_running_step_lets_what_is_after_it_run(on_both: EngineRuns) -> None:
    started = on_both.start(flow(*CHAIN, dag="sequential"))
    on_both.until_step(started, "b", "RUNNING")
    on_both.act("STEP_SKIP", started, "b")
    run = on_both.finished(started)
    assert run.statuses == {"a": "SUCCEEDED", "b": "SKIPPED", "c": "SUCCEEDED"}
    assert run.status == "SUCCEEDED"
    assert GATES.cancels["b"] == 1


def test_skipping_a_failed_step_of_a_running_instance(on_sqlite: EngineRuns) -> None:
    jobs = (probe("bad", "FATAL_ERROR"), noop("after"), probe("other", gate="g"))
    started = on_sqlite.start(flow(*jobs, dag={"bad": ["after"]}))
    on_sqlite.until_step(started, "bad", "FATALLY_FAILED")
    on_sqlite.until_step(started, "other", "RUNNING")
    on_sqlite.act("STEP_SKIP", started, "bad")
    on_sqlite.until_step(started, "after", "SUCCEEDED")
    on_sqlite.open("g")
    run = on_sqlite.finished(started)
    assert run.status == "SUCCEEDED"
    assert run.statuses["bad"] == "SKIPPED"


def test_skipping_a_step_of_an_instance_that_is_over_restarts_it_without_the_step(
    on_sqlite: EngineRuns,
) -> None:
    jobs = (probe("a"), probe("bad", "FATAL_ERROR"), noop("yes"), noop("no"))
    failed = on_sqlite.run(
        flow(*jobs, dag={"a": ["bad"], "bad": ["IF x == 1 THEN yes", "OTHERWISE no"]}, x=1)
    )
    run = on_sqlite.finished(on_sqlite.act("STEP_SKIP", failed, "bad"))
    assert run.statuses == {"a": "SUCCEEDED", "bad": "SKIPPED", "yes": "SUCCEEDED", "no": "UNSATISFIED"}
    assert run.status == "SUCCEEDED"
    assert GATES.starts["a"] == 1


def test_a_skipped_step_leaves_its_conditions_on_the_workflow_true(on_sqlite: EngineRuns) -> None:
    jobs = (probe("a", gate="never", own=1), noop("yes"), noop("no"))
    started = on_sqlite.start(flow(*jobs, dag={"a": ["IF x == 1 THEN yes", "IF x == 2 THEN no"]}, x=1))
    on_sqlite.until_step(started, "a", "RUNNING")
    on_sqlite.act("STEP_SKIP", started, "a")
    assert on_sqlite.finished(started).statuses == {"a": "SKIPPED", "yes": "SUCCEEDED", "no": "UNSATISFIED"}


def test_stop_and_kill_of_a_step(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("a", gate="never"), noop("b"), dag="sequential"))
    for kind, step_end, end in (
        ("STEP_STOP", "STOPPED", "STOPPED"),
        ("STEP_KILL", "FATALLY_FAILED", "FAILED"),
    ):
        started = on_sqlite.start("w")
        on_sqlite.until_step(started, "a", "RUNNING")
        on_sqlite.act(kind, started, "a")
        run = on_sqlite.finished(started)
        assert (run.statuses, run.status) == ({"a": step_end}, end)


def test_restarting_a_failed_step_of_a_running_instance_is_a_new_attempt(on_both: EngineRuns) -> None:
    jobs = (probe("bad", "FATAL_ERROR", "DONE"), noop("after"), probe("other", gate="g"))
    started = on_both.start(flow(*jobs, dag={"bad": ["after"]}))
    on_both.until_step(started, "bad", "FATALLY_FAILED")
    on_both.until_step(started, "other", "RUNNING")
    on_both.act("STEP_RESTART", started, "bad", params={"n": ParamDefinition.infer("n", 4)})
    on_both.until_step(started, "after", "SUCCEEDED")
    on_both.open("g")
    run = on_both.finished(started)
    assert run.status == "SUCCEEDED"
    assert [attempt.status for attempt in run.attempts["bad"]] == ["FATALLY_FAILED", "SUCCEEDED"]
    assert run.steps["bad"].params["n"] == 4


def test_restarting_a_step_of_an_instance_that_is_over_is_a_new_run_from_there(on_sqlite: EngineRuns) -> None:
    done = on_sqlite.run(flow(probe("a"), probe("b"), dag="sequential"))
    run = on_sqlite.finished(on_sqlite.act("STEP_RESTART", done, "b"))
    assert (run.run_id, run.status) == (2, "SUCCEEDED")
    assert dict(GATES.starts) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("kind", "step_id", "why"),
    [("STEP_STOP", "a", "under way"), ("STEP_STOP", "c", "under way"),
     ("STEP_SKIP", "a", "under way, or failed"), ("STEP_SKIP", "c", "under way, or failed"),
     ("STEP_BYPASS", "b", "waits for signals"),
     ("STEP_RESUME", "b", "paused"), ("STEP_RESTART", "b", "ended")],
)  # fmt: skip
def test_illegal_actions_on_steps_are_refused_with_the_reason(
    on_sqlite: EngineRuns, kind: str, step_id: str, why: str
) -> None:
    started = on_sqlite.start(flow(*CHAIN, dag="sequential"))
    on_sqlite.until_step(started, "b", "RUNNING")
    with pytest.raises(CalveError, match=why):
        on_sqlite.act(kind, started, step_id)
    on_sqlite.open("g")
    assert on_sqlite.finished(started).status == "SUCCEEDED"


def test_what_is_ending_takes_no_other_action(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(flow(probe("a", gate="never", hold="hold"), probe("b", gate="never")))
    for step_id in ("a", "b"):
        on_sqlite.until_step(started, step_id, "RUNNING")
    on_sqlite.calve.act_on_step(Command.STEP_STOP, "w", 1, "a", AUTHOR)
    on_sqlite.until(lambda: GATES.cancels["a"] == 1)
    with pytest.raises(CalveError, match="the step is on its way to STOPPED"):
        on_sqlite.act("STEP_SKIP", started, "a")
    on_sqlite.act("STEP_STOP", started, "a")
    on_sqlite.end(started)
    on_sqlite.until(lambda: GATES.cancels["b"] == 1)
    killed = on_sqlite.calve.end_instance("w", 1, AUTHOR, kill=True)
    assert killed is not None
    with pytest.raises(CalveError, match="the run is on its way to STOPPED"):
        on_sqlite.calve.wait_for_command(killed)
    on_sqlite.end(started)
    on_sqlite.open("hold")
    assert on_sqlite.finished(started).status == "STOPPED"
    assert GATES.cancels["a"] == 1


def test_a_step_that_was_done_before_it_could_be_ended_has_succeeded(on_sqlite: EngineRuns) -> None:
    jobs = (probe("a", gate="g", hold="hold", give={"rows": "1"}, rows=0), noop("b"))
    started = on_sqlite.start(flow(*jobs, dag="sequential"))
    on_sqlite.until_step(started, "a", "RUNNING")
    on_sqlite.end(started)
    on_sqlite.until(lambda: GATES.cancels["a"] == 1)
    on_sqlite.open("g")
    on_sqlite.open("hold")
    run = on_sqlite.finished(started)
    assert run.statuses == {"a": "SUCCEEDED"}
    assert run.steps["a"].params["rows"] == 1
    assert run.status == "STOPPED"


def test_who_did_what_is_kept_with_the_run(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(flow(*CHAIN, dag="sequential"))
    on_sqlite.until_step(started, "b", "RUNNING")
    on_sqlite.act("STEP_SKIP", started, "b")
    on_sqlite.finished(started)
    (event,) = [row for row in on_sqlite.rows(events) if row.kind == "action"]
    assert (event.run, event.step_id) == (started.run, "b")
    assert json.loads(event.data) == {"action": "STEP_SKIP", "author": AUTHOR, "refusal": None}
