"""What people do to instances, and what is refused."""

from __future__ import annotations

import json

import pytest

from calve.engine.catalog.breakpoints import Place
from calve.engine.model.requests import RestartPolicy, StartOutcome
from calve.errors import CalveError
from calve.state.orchestration import events
from calve.workflow.params import ParamDefinition
from support.engine_probe import GATES
from support.engine_runs import AUTHOR, NO_RETRY, EngineRuns, flow, foreach, noop, probe

CHAIN = (noop("a"), probe("b", gate="g"), noop("c"))
FIRST_RUN_FAILS = "params.getFromInstance('workflow_run_id') == 1 ? 'FATAL_ERROR' : 'DONE'"


@pytest.mark.parametrize(
    ("kill", "run_end", "step_end"), [(False, "STOPPED", "STOPPED"), (True, "FAILED", "FATALLY_FAILED")]
)
def test_stop_and_kill_end_a_running_instance(
    on_both: EngineRuns, kill: bool, run_end: str, step_end: str
) -> None:
    started = on_both.start(flow(*CHAIN, dag="sequential"))
    on_both.until_step(started, "b", "RUNNING")
    on_both.end(started, kill=kill)
    run = on_both.finished(started)
    assert run.status == run_end
    assert run.statuses == {"a": "SUCCEEDED", "b": step_end}
    assert GATES.cancels["b"] == 1


@pytest.mark.parametrize(("kill", "end"), [(False, "STOPPED"), (True, "FAILED")])
def test_stop_and_kill_end_a_queued_instance_at_once(on_sqlite: EngineRuns, kill: bool, end: str) -> None:
    first = on_sqlite.start(flow(*CHAIN, dag="sequential"))
    queued = on_sqlite.start("w")
    third = on_sqlite.start("w")
    on_sqlite.end(queued, kill=kill)
    assert on_sqlite.look(queued).status == end
    on_sqlite.open("g")
    assert on_sqlite.finished(first).status == "SUCCEEDED"
    assert on_sqlite.finished(third).status == "SUCCEEDED"


def test_stopping_a_workflow_ends_all_its_instances(on_sqlite: EngineRuns) -> None:
    started = [
        on_sqlite.start(flow(probe("a", gate="g"), run_strategy=2)),
        *(on_sqlite.start("w") for _ in range(3)),
    ]
    on_sqlite.until_step(started[1], "a", "RUNNING")
    assert on_sqlite.calve.end_workflow("w", AUTHOR) == 4
    assert {on_sqlite.finished(one).status for one in started} == {"STOPPED"}


def test_a_step_that_waits_for_its_retry_is_ended_by_a_stop(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(flow(probe("a", "USER_ERROR")))
    on_sqlite.until_step(started, "a", "USER_FAILED")
    on_sqlite.end(started)
    run = on_sqlite.finished(started)
    assert run.status == "STOPPED"
    assert run.statuses == {"a": "STOPPED"}


def test_what_is_over_can_not_be_ended_or_paused(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(flow(noop("a")))
    on_sqlite.finished(started)
    with pytest.raises(CalveError, match="SUCCEEDED already"):
        on_sqlite.end(started)
    with pytest.raises(CalveError, match="SUCCEEDED already"):
        on_sqlite.pause(started)
    with pytest.raises(CalveError, match="SUCCEEDED already"):
        on_sqlite.act("STEP_STOP", started, "a")
    with pytest.raises(CalveError, match="no instance 9"):
        on_sqlite.calve.end_instance("w", 9, AUTHOR)
    with pytest.raises(CalveError, match="no step 'z'"):
        on_sqlite.act("STEP_SKIP", started, "z")


def test_a_restart_from_incomplete_runs_only_what_is_not_complete(on_both: EngineRuns) -> None:
    jobs = (
        probe("a", rows=3),
        probe("b", "${how}", expr__how=FIRST_RUN_FAILS),
        noop("c", said="${a__rows}"),
        probe("d"),
    )
    failed = on_both.run(flow(*jobs, dag={"a": ["b"], "b": ["c"]}))
    assert failed.statuses == {"a": "SUCCEEDED", "b": "FATALLY_FAILED", "d": "SUCCEEDED"}
    run = on_both.rerun(failed)
    assert (run.instance_id, run.run_id, run.status) == (1, 2, "SUCCEEDED")
    assert {name: step.carried for name, step in run.steps.items()} == {
        "a": True,
        "b": False,
        "c": False,
        "d": True,
    }
    assert run.steps["c"].params["said"] == "3"
    assert (GATES.starts["a"], GATES.starts["b"], GATES.starts["d"]) == (1, 2, 1)


def test_a_restart_from_the_beginning_runs_everything(on_sqlite: EngineRuns) -> None:
    failed = on_sqlite.run(
        flow(probe("a"), probe("b", "${how}", expr__how=FIRST_RUN_FAILS), dag="sequential")
    )
    run = on_sqlite.rerun(failed, policy=RestartPolicy.RESTART_FROM_BEGINNING)
    assert run.status == "SUCCEEDED"
    assert (GATES.starts["a"], GATES.starts["b"]) == (2, 2)


def test_a_restart_from_a_step_runs_it_and_all_after_it(on_sqlite: EngineRuns) -> None:
    jobs = (probe("a"), probe("b"), probe("c"), probe("beside"))
    done = on_sqlite.run(flow(*jobs, dag={"a": ["b", "beside"], "b": ["c"]}))
    run = on_sqlite.rerun(done, policy=RestartPolicy.RESTART_FROM_SPECIFIC, step_id="b")
    assert run.status == "SUCCEEDED"
    assert dict(GATES.starts) == {"a": 1, "b": 2, "c": 2, "beside": 1}
    with pytest.raises(CalveError, match="no step 'z'"):
        on_sqlite.restart(run, policy=RestartPolicy.RESTART_FROM_SPECIFIC, step_id="z")


def test_a_restart_with_changed_params(on_sqlite: EngineRuns) -> None:
    failed = on_sqlite.run(flow(probe("a", "${how}", n=1, retry_policy=NO_RETRY), how="FATAL_ERROR"))
    changed = {"how": ParamDefinition.infer("how", "DONE")}
    run = on_sqlite.rerun(failed, params=changed, step_params={"a": {"n": ParamDefinition.infer("n", 2)}})
    assert run.status == "SUCCEEDED"
    assert run.steps["a"].params["n"] == 2


def test_only_the_newest_run_of_what_is_over_can_be_restarted(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(flow(probe("a", gate="g")))
    on_sqlite.until_step(started, "a", "RUNNING")
    with pytest.raises(CalveError, match="not over"):
        on_sqlite.restart(started)
    on_sqlite.open("g")
    done = on_sqlite.finished(started)
    on_sqlite.rerun(done)
    with pytest.raises(CalveError, match="newest run is 2"):
        on_sqlite.calve.end_instance("w", 1, AUTHOR, run_id=1)


def test_an_iteration_is_restarted_through_the_instance_around_it(on_sqlite: EngineRuns) -> None:
    run = on_sqlite.run(flow(foreach("loop", {"x": [1]}, probe("inner", "FATAL_ERROR"))))
    (child,) = on_sqlite.children(run, "loop")
    with pytest.raises(CalveError, match="part of step 'loop'"):
        on_sqlite.restart(child)
    with pytest.raises(CalveError, match="part of step 'loop'"):
        on_sqlite.act("STEP_RESTART", child, "inner")


def test_the_same_request_id_is_one_instance(on_both: EngineRuns) -> None:
    first = on_both.start(flow(noop("a")), {"request_id": "r1"})
    second = on_both.start("w", {"request_id": "r1"})
    assert second.status is StartOutcome.DUPLICATED
    assert (second.instance_id, second.run) == (first.instance_id, first.run)
    assert on_both.start("w", {"request_id": "r2"}).instance_id == 2


def test_a_paused_instance_holds_what_has_not_begun(on_both: EngineRuns) -> None:
    started = on_both.start(flow(*CHAIN, dag="sequential"))
    on_both.until_step(started, "b", "RUNNING")
    on_both.pause(started)
    on_both.open("g")
    on_both.until_step(started, "c", "PAUSED")
    on_both.pause(started, False)
    assert on_both.finished(started).status == "SUCCEEDED"


def test_a_paused_instance_can_be_stopped(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(flow(*CHAIN, dag="sequential"))
    on_sqlite.until_step(started, "b", "RUNNING")
    on_sqlite.pause(started)
    on_sqlite.open("g")
    on_sqlite.until_step(started, "c", "PAUSED")
    on_sqlite.end(started)
    assert on_sqlite.finished(started).statuses["c"] == "STOPPED"


def test_a_paused_workflow_holds_its_queue(on_both: EngineRuns) -> None:
    on_both.push(flow(noop("a")))
    on_both.calve.pause("w", AUTHOR)
    started = on_both.start("w")
    other = on_both.run(flow(noop("a"), id="other"))
    assert other.status == "SUCCEEDED"
    assert on_both.look(started).status == "CREATED"
    on_both.calve.resume("w", AUTHOR)
    assert on_both.finished(started).status == "SUCCEEDED"


def test_a_breakpoint_holds_a_step_until_it_is_taken_away(on_both: EngineRuns) -> None:
    on_both.push(flow(noop("a"), noop("b"), dag="sequential"))
    place = Place(workflow_id="w", step_id="b")
    on_both.calve.add_breakpoint(place, AUTHOR)
    started = on_both.start("w")
    on_both.until_step(started, "b", "PAUSED")
    assert on_both.calve.delete_breakpoint(place, AUTHOR, resume=True) == 1
    assert on_both.finished(started).status == "SUCCEEDED"
    assert on_both.run("w").status == "SUCCEEDED"


def test_one_attempt_can_be_resumed_past_a_breakpoint(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("a")))
    on_sqlite.calve.add_breakpoint(Place(workflow_id="w", step_id="a"), AUTHOR)
    started = on_sqlite.start("w")
    on_sqlite.until_step(started, "a", "PAUSED")
    on_sqlite.act("STEP_RESUME", started, "a")
    assert on_sqlite.finished(started).status == "SUCCEEDED"
    on_sqlite.until_step(on_sqlite.start("w"), "a", "PAUSED")


def test_a_breakpoint_for_another_instance_holds_nothing(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("a")))
    on_sqlite.calve.add_breakpoint(Place(workflow_id="w", step_id="a", instance_id=2), AUTHOR)
    assert on_sqlite.run("w").status == "SUCCEEDED"
    on_sqlite.until_step(on_sqlite.start("w"), "a", "PAUSED")


def test_a_breakpoint_inside_a_loop_holds_each_iteration_and_lets_all_go(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(foreach("loop", {"x": [1, 2]}, noop("inner"))))
    place = Place(workflow_id="w", step_id="inner")
    on_sqlite.calve.add_breakpoint(place, AUTHOR)
    started = on_sqlite.start("w")
    on_sqlite.until(
        lambda: [one.statuses for one in on_sqlite.children(started, "loop")] == [{"inner": "PAUSED"}] * 2
    )
    assert on_sqlite.calve.delete_breakpoint(place, AUTHOR, resume=True) == 2
    assert on_sqlite.finished(started).status == "SUCCEEDED"


def test_every_run_leaves_its_whole_way_in_the_events(on_both: EngineRuns) -> None:
    run = on_both.run(flow(probe("a"), noop("b"), dag="sequential"))
    said = [json.loads(row.data)["status"] for row in on_both.rows(events) if row.kind == "run"]
    assert said == ["CREATED", "IN_PROGRESS", "SUCCEEDED"]
    usual = [
        "CREATED",
        "INITIALIZED",
        "WAITING_FOR_SIGNALS",
        "EVALUATING_PARAMS",
        "WAITING_FOR_PERMITS",
        "STARTING",
    ]
    paths = on_both.paths()
    assert paths[(run.key, "b", 1)] == [*usual, "FINISHING", "SUCCEEDED"]
    assert [status for status in paths[(run.key, "a", 1)] if status != "RUNNING"] == [
        *usual,
        "FINISHING",
        "SUCCEEDED",
    ]
