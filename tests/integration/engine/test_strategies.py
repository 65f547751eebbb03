"""Run strategies: which instances of a workflow run together, wait, or are stopped."""

from __future__ import annotations

import pytest

from calve.engine.model.requests import StartOutcome
from calve.errors import CalveError
from calve.state.orchestration import runs
from calve.workflow.definition.properties import Properties
from calve.workflow.params import ParamDefinition
from support.engine_runs import AUTHOR, EngineRuns, flow, probe


def statuses(calve: EngineRuns, workflow_id: str = "w") -> list[str]:
    """The statuses of all runs of a workflow, in order."""
    return [row.status for row in calve.rows(runs) if row.workflow_id == workflow_id]


def test_sequential_runs_one_at_a_time_in_order_and_goes_on_after_a_failure(on_both: EngineRuns) -> None:
    on_both.push(flow(probe("a", "FATAL_ERROR", gate="${gate}", gate_name="x"), gate="one"))
    first = on_both.start("w", gate="one")
    second = on_both.start("w", gate="two")
    third = on_both.start("w", gate="three")
    on_both.until_step(first, "a", "RUNNING")
    assert statuses(on_both) == ["IN_PROGRESS", "CREATED", "CREATED"]
    on_both.open("one")
    on_both.until_step(second, "a", "RUNNING")
    assert statuses(on_both) == ["FAILED", "IN_PROGRESS", "CREATED"]
    on_both.open("two")
    on_both.open("three")
    assert on_both.finished(third).status == "FAILED"


def test_strict_sequential_blocks_after_a_failure_until_it_is_unblocked(on_both: EngineRuns) -> None:
    on_both.push(flow(probe("a", "${end}"), run_strategy="strict_sequential", end="FATAL_ERROR"))
    first = on_both.start("w")
    second = on_both.start("w", end="DONE")
    assert on_both.finished(first).status == "FAILED"
    # A third instance shows that the queue was looked at, and that it is still blocked.
    third = on_both.start("w", end="DONE")
    assert statuses(on_both) == ["FAILED", "CREATED", "CREATED"]
    assert on_both.calve.unblock("w") == 1
    assert on_both.finished(second).status == "SUCCEEDED"
    assert on_both.finished(third).status == "SUCCEEDED"


def test_strict_sequential_goes_on_once_the_failed_one_is_restarted_to_success(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(
        flow(probe("a", "${end}", gate="$wait"), run_strategy="strict_sequential", end="DONE", wait="now")
    )
    on_sqlite.open("now")
    first = on_sqlite.start("w", end="FATAL_ERROR")
    second = on_sqlite.start("w")
    assert on_sqlite.finished(first).status == "FAILED"
    change = {
        name: ParamDefinition.infer(name, value) for name, value in (("end", "DONE"), ("wait", "later"))
    }
    again = on_sqlite.restart(first, params=change)
    on_sqlite.until_step(again, "a", "RUNNING")
    assert on_sqlite.look(second).status == "CREATED"
    on_sqlite.open("later")
    assert on_sqlite.finished(again).status == "SUCCEEDED"
    assert on_sqlite.finished(second).status == "SUCCEEDED"


def test_a_restart_that_fails_again_blocks_a_strict_sequence_again(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("a", "${end}"), run_strategy="strict_sequential", end="FATAL_ERROR"))
    first = on_sqlite.start("w")
    on_sqlite.finished(first)
    second = on_sqlite.start("w", end="DONE")
    assert on_sqlite.rerun(first).status == "FAILED"
    assert on_sqlite.look(second).status == "CREATED"
    assert on_sqlite.calve.unblock("w", first.instance_id) == 1
    assert on_sqlite.finished(second).status == "SUCCEEDED"


def test_first_only_stops_a_new_instance_at_once(on_both: EngineRuns) -> None:
    on_both.push(flow(probe("a", gate="g"), run_strategy="first_only"))
    first = on_both.start("w")
    second = on_both.start("w")
    assert second.status is StartOutcome.STOPPED
    assert on_both.look(second).status == "STOPPED"
    assert on_both.look(second).attempts == {}
    on_both.open("g")
    assert on_both.finished(first).status == "SUCCEEDED"
    assert on_both.run("w").status == "SUCCEEDED"


def test_last_only_stops_what_waits_and_what_runs(on_both: EngineRuns) -> None:
    on_both.push(flow(probe("a", gate="$gate"), run_strategy="last_only", gate="never"))
    first = on_both.start("w")
    on_both.until_step(first, "a", "RUNNING")
    second = on_both.start("w")
    third = on_both.start("w", gate="open")
    on_both.open("open")
    assert on_both.finished(third).status == "SUCCEEDED"
    assert on_both.finished(first).status == "STOPPED"
    assert on_both.finished(second).status == "STOPPED"
    ends = {row.instance_id: row for row in on_both.rows(runs)}
    assert ends[3].started_at >= ends[1].ended_at


def test_serial_latest_only_keeps_the_newest_of_the_queue(on_both: EngineRuns) -> None:
    on_both.push(flow(probe("a", gate="g"), run_strategy="serial_latest_only"))
    first = on_both.start("w")
    on_both.until_step(first, "a", "RUNNING")
    rest = [on_both.start("w") for _ in range(3)]
    assert statuses(on_both) == ["IN_PROGRESS", "STOPPED", "STOPPED", "CREATED"]
    on_both.open("g")
    assert [on_both.finished(one).status for one in (first, *rest)] == [
        "SUCCEEDED",
        "STOPPED",
        "STOPPED",
        "SUCCEEDED",
    ]


def test_parallel_runs_so_many_at_a_time_in_order(on_both: EngineRuns) -> None:
    on_both.push(
        flow(probe("a", gate="$gate"), run_strategy={"rule": "parallel", "workflow_concurrency": 2}, gate="g")
    )
    started = [on_both.start("w", gate=f"g{number}") for number in range(4)]
    for one in started[:2]:
        on_both.until_step(one, "a", "RUNNING")
    assert statuses(on_both) == ["IN_PROGRESS", "IN_PROGRESS", "CREATED", "CREATED"]
    on_both.open("g1")
    on_both.until_step(started[2], "a", "RUNNING")
    assert statuses(on_both) == ["IN_PROGRESS", "SUCCEEDED", "IN_PROGRESS", "CREATED"]
    for number in (0, 2, 3):
        on_both.open(f"g{number}")
    for one in started:
        assert on_both.finished(one).status == "SUCCEEDED"


def test_a_restart_passes_the_strategy_too(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("a", "${end}", gate="$gate"), end="FATAL_ERROR", gate="now"))
    on_sqlite.open("now")
    first = on_sqlite.start("w")
    on_sqlite.finished(first)
    running = on_sqlite.start("w", gate="g")
    on_sqlite.until_step(running, "a", "RUNNING")
    again = on_sqlite.restart(first)
    assert on_sqlite.look(again).status == "CREATED"
    on_sqlite.open("g")
    assert on_sqlite.finished(again).run_id == 2


def test_a_wider_strategy_lets_through_what_waits(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(probe("a", gate="g")))
    started = [on_sqlite.start("w") for _ in range(3)]
    on_sqlite.until_step(started[0], "a", "RUNNING")
    on_sqlite.calve.set_properties("w", Properties.model_validate({"run_strategy": 3}), AUTHOR)
    for one in started:
        on_sqlite.until_step(one, "a", "RUNNING")
    with pytest.raises(CalveError):
        on_sqlite.calve.set_properties("w", Properties.model_validate({"run_strategy": "first_only"}), AUTHOR)
    on_sqlite.open("g")
    for one in started:
        assert on_sqlite.finished(one).status == "SUCCEEDED"
