"""Subworkflows: waiting or not, params, failing, stopping, restarting, depth."""

from __future__ import annotations

import pytest

from calve.engine.core import context
from calve.engine.core.engine import Engine
from calve.engine.model.requests import RestartPolicy
from support.engine_probe import GATES
from support.engine_runs import EngineRuns, flow, foreach, noop, probe, sub


def test_a_subworkflow_gets_the_params_of_step_and_workflow(on_both: EngineRuns) -> None:
    on_both.push(flow(noop("inner", said="$region $day"), id="child", region="none", day="none"))
    run = on_both.run(flow(sub("call", "child", day="$today"), id="parent", region="eu", today="monday"))
    (child,) = on_both.children(run, "call")
    assert run.status == "SUCCEEDED"
    assert child.steps["inner"].params["said"] == "eu monday"
    assert child.initiator["type"] == "SUBWORKFLOW"


def test_explicit_params_pass_only_those_of_the_step(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("inner", said="$region $day"), id="child", region="none", day="none"))
    call = sub("call", "child", day="monday", explicit_params=True)
    run = on_sqlite.run(flow(call, id="parent", region="eu"))
    assert on_sqlite.children(run, "call")[0].steps["inner"].params["said"] == "none monday"


def test_a_subworkflow_in_a_loop_gets_the_params_around_the_loop_too(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("inner", said="$region $x"), id="child", region="none", x=0, run_strategy=5))
    run = on_sqlite.run(flow(foreach("loop", {"x": [1, 2]}, sub("call", "child")), id="parent", region="eu"))
    assert run.status == "SUCCEEDED"
    said = [
        on_sqlite.children(one, "call")[0].steps["inner"].params["said"]
        for one in on_sqlite.children(run, "loop")
    ]
    assert said == ["eu 1", "eu 2"]


def test_params_of_a_subworkflow_can_be_asked_for(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("inner", rows=42), id="child"))
    after = noop("after", **{"!rows<long>": "params.getFromSubworkflow('call', 'inner', 'rows');"})
    run = on_sqlite.run(flow(sub("call", "child"), after, dag="sequential", id="parent"))
    assert run.steps["after"].params["rows"] == 42


def test_an_asynchronous_subworkflow_is_done_once_it_is_launched(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("inner", gate="g"), id="child"))
    run = on_sqlite.run(flow(sub("call", "child", sync=False), id="parent"))
    assert run.status == "SUCCEEDED"
    (child,) = on_sqlite.children(run, "call")
    assert child.status in ("CREATED", "IN_PROGRESS")
    on_sqlite.open("g")
    on_sqlite.until(lambda: on_sqlite.look(child.key).status == "SUCCEEDED")


def test_a_failing_subworkflow_fails_its_step_without_retry(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("inner", "FATAL_ERROR"), id="child"))
    run = on_sqlite.run(flow(sub("call", "child"), noop("after"), dag="sequential", id="parent"))
    assert run.statuses == {"call": "FATALLY_FAILED"}
    assert run.code("call") == "SUBWORKFLOW_FAILED"
    assert run.status == "FAILED"


def test_a_subworkflow_that_is_not_there_fails_its_step(on_sqlite: EngineRuns) -> None:
    run = on_sqlite.run(flow(sub("call", "nowhere"), noop("other"), id="parent"))
    assert run.statuses == {"call": "INTERNALLY_FAILED", "other": "SUCCEEDED"}
    assert run.code("call") == "WORKFLOW_NOT_FOUND"


@pytest.mark.parametrize(("kill", "end"), [(False, "STOPPED"), (True, "FAILED")])
def test_a_subworkflow_is_ended_with_its_parent(on_both: EngineRuns, kill: bool, end: str) -> None:
    on_both.push(flow(probe("inner", gate="never"), id="child", run_strategy=5))
    on_both.push(flow(sub("call", "child"), id="parent", run_strategy=5))
    started = on_both.start("parent")
    on_both.until(lambda: [one for one in on_both.children(started, "call") if "inner" in one.statuses])
    on_both.end(started, kill=kill)
    assert on_both.finished(started).status == end
    assert on_both.children(started, "call")[0].status == end


def test_a_subworkflow_that_waits_in_its_queue_is_stopped_with_its_parent(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("inner", gate="never"), id="child"))
    blocker = on_sqlite.start("child")
    started = on_sqlite.start(flow(sub("call", "child"), id="parent"))
    on_sqlite.until(lambda: on_sqlite.children(started, "call"))
    on_sqlite.end(started)
    assert on_sqlite.finished(started).status == "STOPPED"
    assert on_sqlite.children(started, "call")[0].status == "STOPPED"
    on_sqlite.end(blocker)
    on_sqlite.finished(blocker)


def test_a_stopped_subworkflow_stops_its_step(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("inner", gate="never"), id="child"))
    started = on_sqlite.start(flow(sub("call", "child"), id="parent"))
    (child,) = on_sqlite.until(lambda: on_sqlite.children(started, "call"))
    on_sqlite.calve.end_instance("child", child.instance_id, "ada")
    run = on_sqlite.finished(started)
    assert run.statuses == {"call": "STOPPED"}
    assert run.status == "STOPPED"


def test_a_restart_restarts_the_same_instance_from_what_is_incomplete(on_both: EngineRuns) -> None:
    inner = (
        probe("first"),
        probe(
            "second",
            "${how}",
            expr__how="params.getFromInstance('workflow_run_id') == 1 ? 'FATAL_ERROR' : 'DONE'",
        ),
    )
    on_both.push(flow(*inner, dag="sequential", id="child"))
    failed = on_both.run(flow(sub("call", "child"), id="parent"))
    assert failed.status == "FAILED"
    run = on_both.rerun(failed)
    assert run.status == "SUCCEEDED"
    (again,) = on_both.children(run, "call")
    assert (again.instance_id, again.run_id, again.status) == (1, 2, "SUCCEEDED")
    assert again.steps["first"].carried
    assert GATES.starts["first"] == 1


def test_a_restart_from_the_beginning_starts_a_new_instance(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("inner", "FATAL_ERROR"), id="child"))
    failed = on_sqlite.run(flow(sub("call", "child"), id="parent"))
    run = on_sqlite.rerun(failed, policy=RestartPolicy.RESTART_FROM_BEGINNING)
    (again,) = on_sqlite.children(run, "call")
    assert (again.instance_id, again.run_id) == (2, 1)


def test_a_workflow_that_calls_itself_comes_to_an_end(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(sub("call", "again"), id="again", run_strategy=100))
    run = on_sqlite.run("again")
    assert run.status == "FAILED"
    assert run.code("call") == "SUBWORKFLOW_FAILED"


def test_a_param_that_the_subworkflow_refuses_fails_the_step(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("inner"), id="child", **{"n<long>": 1}))
    run = on_sqlite.run(flow(sub("call", "child", n="many"), id="parent"))
    assert run.statuses == {"call": "INTERNALLY_FAILED"}
    assert run.code("call").startswith("PARAM")


def test_many_parents_at_once_do_not_starve_their_children(
    on_sqlite: EngineRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "CAPACITY", 3)
    on_sqlite.push(flow(noop("inner"), id="child", run_strategy=50))
    on_sqlite.push(flow(sub("call", "child"), id="parent", run_strategy=50))
    started = [on_sqlite.start("parent") for _ in range(8)]
    assert {on_sqlite.finished(one).status for one in started} == {"SUCCEEDED"}


def test_two_engines_share_the_runs_of_a_tree(on_both: EngineRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CAPACITY", "CAPACITY_BESIDE_OTHERS"):
        monkeypatch.setattr(context, name, 2)
    second = Engine(on_both.settings, on_both.database)
    second.start()
    try:
        on_both.push(flow(noop("inner"), probe("work"), id="child", run_strategy=50))
        loop = foreach("loop", {"x": [1, 2, 3, 4]}, sub("call", "child"), noop("after"), dag="sequential")
        on_both.push(flow(loop, id="parent", run_strategy=50))
        started = [on_both.start("parent") for _ in range(3)]
        assert {on_both.finished(one).status for one in started} == {"SUCCEEDED"}
        stopped = on_both.start("parent")
        on_both.end(stopped)
        assert on_both.finished(stopped).status in ("STOPPED", "SUCCEEDED")
    finally:
        second.stop()
    assert GATES.starts["work"] >= 12
    assert on_both.permits() == []
