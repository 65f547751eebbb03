"""How many steps run at a time: limits of workflows, instances, loops and tags; permits are given back."""

from __future__ import annotations

from typing import Any

import pytest

from calve.engine.catalog.versions import load_definition
from calve.engine.core.batch import Batch
from calve.engine.core.lease import Lease
from calve.engine.core.step_state import StepState
from calve.state.clock import now_ms
from calve.state.orchestration import steps
from calve.workflow.definition.tags import Tag
from support.engine_probe import GATES
from support.engine_runs import SOON, EngineRuns, flow, foreach, noop, probe, sub

SLEEP = {"type": "Sleep", "sleep_seconds": 1}


def most_at_once(calve: EngineRuns, prefix: str = "s") -> int:
    """How many steps were at work together, at most."""
    ends = []
    for row in calve.rows(steps):
        if row.step_id.startswith(prefix) and row.started_at is not None:
            ends += [(row.started_at, 1), (row.ended_at, -1)]
    most = now = 0
    # A step that ends in the millisecond in which another one begins did not overlap with it.
    for _, change in sorted(ends, key=lambda item: (item[0], item[1])):
        now += change
        most = max(most, now)
    return most


def counted(calve: EngineRuns, expected: int) -> None:
    """Exactly so many attempts begin and others wait, while the gate is shut; then all end."""

    def is_full() -> bool:
        waiting = any(row.status == "WAITING_FOR_PERMITS" for row in calve.rows(steps))
        return waiting and sum(GATES.starts.values()) >= expected

    calve.until(is_full, lambda: str(GATES.starts))
    assert sum(GATES.starts.values()) == expected
    calve.open("g")


def test_step_concurrency_limits_all_steps_of_a_workflow(on_both: EngineRuns) -> None:
    jobs = [probe(f"s{number}", gate="g") for number in range(5)]
    on_both.push(flow(*jobs, step_concurrency=3, run_strategy=2))
    started = [on_both.start("w") for _ in range(2)]
    counted(on_both, 3)
    assert {on_both.finished(one).status for one in started} == {"SUCCEEDED"}
    assert most_at_once(on_both) == 3
    assert on_both.permits() == []


def test_instance_step_concurrency_limits_the_leaves_of_the_whole_tree(on_sqlite: EngineRuns) -> None:
    loop = foreach("loop", {"x": [1, 2, 3, 4]}, probe("s_inner", gate="g"), concurrency=4)
    started = on_sqlite.start(flow(loop, probe("s_beside", gate="g"), instance_step_concurrency=2))
    counted(on_sqlite, 2)
    assert on_sqlite.finished(started).status == "SUCCEEDED"
    assert most_at_once(on_sqlite) == 2


def test_the_instance_limit_of_the_root_holds_for_subworkflows(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(*(probe(f"s{number}", gate="g") for number in range(3)), id="child", run_strategy=5))
    jobs = [sub(f"call{number}", "child") for number in range(2)]
    started = on_sqlite.start(flow(*jobs, id="parent", instance_step_concurrency=2))
    counted(on_sqlite, 2)
    assert on_sqlite.finished(started).status == "SUCCEEDED"
    assert most_at_once(on_sqlite) == 2


def test_foreach_concurrency_limits_iterations(on_sqlite: EngineRuns) -> None:
    loop = foreach("loop", {"x": [1, 2, 3, 4, 5]}, probe("inner", gate="g$x"), concurrency=2)
    started = on_sqlite.start(flow(loop))
    on_sqlite.until(lambda: GATES.starts["inner"] == 2)
    assert [child.instance_id for child in on_sqlite.children(started, "loop")] == [1, 2]
    on_sqlite.open("g2")
    on_sqlite.until(lambda: GATES.starts["inner"] == 3)
    assert [child.instance_id for child in on_sqlite.children(started, "loop")] == [1, 2, 3]
    for number in range(1, 6):
        on_sqlite.open(f"g{number}")
    assert on_sqlite.finished(started).status == "SUCCEEDED"


def test_a_tag_with_a_limit_holds_over_workflows(on_both: EngineRuns) -> None:
    on_both.calve.set_permit("cluster", 2)
    jobs = [probe(f"s{number}", gate="g", tags=["cluster"]) for number in range(3)]
    started = [on_both.start(flow(*jobs, id=name)) for name in ("one", "two")]
    counted(on_both, 2)
    for one in started:
        assert on_both.finished(one).status == "SUCCEEDED"
    assert most_at_once(on_both) == 2
    assert on_both.permits() == []


@pytest.mark.parametrize("place", ["workflow", "properties", "implicit"])
def test_tags_of_the_workflow_and_the_implicit_ones_count_too(on_sqlite: EngineRuns, place: str) -> None:
    tag = "maestro_w:s" if place == "implicit" else "slow"
    on_sqlite.calve.set_permit(tag, 1)
    tags: dict[str, Any] = {"tags": ["slow"]} if place == "workflow" else {}
    on_sqlite.push(flow(probe("s", gate="g"), run_strategy=3, **tags))
    if place == "properties":
        on_sqlite.calve.add_tag("w", Tag.model_validate({"name": "slow"}), "ada")
    started = [on_sqlite.start("w") for _ in range(3)]
    counted(on_sqlite, 1)
    for one in started:
        assert on_sqlite.finished(one).status == "SUCCEEDED"
    assert most_at_once(on_sqlite) == 1


@pytest.mark.slow
def test_a_limit_that_is_raised_or_taken_away_lets_waiting_steps_go(on_sqlite: EngineRuns) -> None:
    on_sqlite.calve.set_permit("t", 1)
    jobs = [probe(f"s{number}", gate="g", tags=["t"]) for number in range(3)]
    started = on_sqlite.start(flow(*jobs))
    on_sqlite.until(lambda: sum(GATES.starts.values()) == 1)
    on_sqlite.calve.set_permit("t", 2)
    on_sqlite.until(lambda: sum(GATES.starts.values()) == 2)
    on_sqlite.calve.delete_permit("t")
    on_sqlite.until(lambda: sum(GATES.starts.values()) == 3)
    on_sqlite.open("g")
    assert on_sqlite.finished(started).status == "SUCCEEDED"


@pytest.mark.parametrize(
    "end", ["FATAL_ERROR", "USER_ERROR", "STOPPED", "stop", "kill", "skip", "step_stop", "timeout"]
)
def test_permits_are_given_back_however_a_step_ends(on_both: EngineRuns, end: str) -> None:
    on_both.calve.set_permit("t", 1)
    word = end if end.isupper() else "DONE"
    policy = {"error_retry_limit": 1, "backoff": SOON}
    timeout = {"timeout": "200ms"} if end == "timeout" else {}
    first = on_both.start(
        flow(probe("s", word, gate="g", tags=["t"], retry_policy=policy, **timeout), id="one")
    )
    on_both.until_step(first, "s", "RUNNING", "TIMED_OUT")
    second = on_both.start(flow(probe("s", tags=["t"]), id="two"))
    if end in ("stop", "kill"):
        on_both.end(first, kill=end == "kill")
    elif end in ("skip", "step_stop"):
        on_both.act({"skip": "STEP_SKIP", "step_stop": "STEP_STOP"}[end], first, "s")
    elif end != "timeout":
        on_both.open("g")
    assert on_both.finished(second).status == "SUCCEEDED"
    on_both.finished(first)
    assert on_both.permits() == []


def test_a_permit_that_is_taken_and_given_back_in_one_transaction_is_free(on_both: EngineRuns) -> None:
    on_both.push(flow(noop("s")))
    with on_both.database.write() as connection:
        definition = load_definition(connection, "w", 1).workflow.steps[0]
        step = StepState.new(1, definition, 1, now_ms())
        batch = Batch(connection, now_ms(), Lease(1), {})
        batch.gain_permit("t", step)
        batch.give_back_permits(step)
        batch.flush()
        batch.gain_permit("t", step)
        batch.flush()
        batch.give_back_permits(step)
        batch.gain_permit("t", step)
        batch.flush()
    assert on_both.permits() == ["t"]
    with on_both.database.write() as connection:
        batch = Batch(connection, now_ms(), Lease(1), {})
        batch.gain_permit("u", step)
        batch.give_back_permits(step)
        batch.flush()
    assert on_both.permits() == []


def test_steps_that_wait_for_permits_can_be_ended(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(flow(probe("s0", gate="g"), probe("s1", gate="g"), step_concurrency=1))
    on_sqlite.until_step(started, "s1", "WAITING_FOR_PERMITS")
    on_sqlite.act("STEP_STOP", started, "s1")
    on_sqlite.open("g")
    run = on_sqlite.finished(started)
    assert run.statuses == {"s0": "SUCCEEDED", "s1": "STOPPED"}
    assert run.status == "STOPPED"
    assert GATES.starts["s1"] == 0


def test_loops_and_subworkflows_hold_no_permits_so_their_steps_can_run(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("s"), id="child", run_strategy=5))
    loop = foreach(
        "loop", {"x": [1, 2]}, {"job": {"id": "s1", **SLEEP, "sleep_seconds": 0}}, sub("call", "child")
    )
    run = on_sqlite.run(flow(loop, id="parent", step_concurrency=1))
    assert run.status == "SUCCEEDED"
