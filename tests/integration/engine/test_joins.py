"""Which steps run: joins, conditions on edges, and what a failing condition does."""

from __future__ import annotations

import pytest

from support.engine_runs import NO_RETRY, EngineRuns, flow, noop, probe


def test_a_step_begins_when_all_steps_before_it_are_complete(on_both: EngineRuns) -> None:
    jobs = (noop("a"), probe("slow", gate="slow"), noop("fast"), noop("end"))
    started = on_both.start(flow(*jobs, dag={"a": ["slow", "fast"], "slow": ["end"], "fast": ["end"]}))
    on_both.until_step(started, "fast", "SUCCEEDED")
    before = on_both.until_step(started, "slow", "RUNNING")
    assert "end" not in before.statuses
    on_both.open("slow")
    run = on_both.finished(started)
    assert run.status == "SUCCEEDED"
    assert set(run.statuses.values()) == {"SUCCEEDED"}
    assert (run.steps["end"].started_at or 0) >= (run.steps["slow"].ended_at or 0)


@pytest.mark.parametrize(
    ("rows", "taken", "left"), [(5, "many", "none"), (0, "none", "many")], ids=["if", "otherwise"]
)
def test_conditions_choose_the_branch_and_the_other_one_is_unsatisfied(
    on_sqlite: EngineRuns, rows: int, taken: str, left: str
) -> None:
    jobs = (noop("a", rows=rows), noop("many"), noop("after_many"), noop("none"), noop("end"))
    dag = {
        "a": ["IF rows > 0 THEN many", "OTHERWISE none"],
        "many": ["after_many"],
        "after_many": ["end"],
        "none": ["end"],
    }
    run = on_sqlite.run(flow(*jobs, dag=dag))
    assert run.statuses[taken] == "SUCCEEDED"
    assert run.statuses[left] == "UNSATISFIED"
    assert run.statuses["after_many"] == run.statuses["many"]
    assert run.statuses["end"] == "SUCCEEDED"
    assert run.status == "SUCCEEDED"


def test_a_step_whose_edges_are_all_false_is_unsatisfied_and_so_is_what_follows(
    on_sqlite: EngineRuns,
) -> None:
    jobs = (noop("a"), noop("b"), noop("c"), noop("d"))
    run = on_sqlite.run(flow(*jobs, dag={"a": ["IF 1 > 2 THEN c"], "b": ["IF 1 > 3 THEN c"], "c": ["d"]}))
    assert run.statuses == {"a": "SUCCEEDED", "b": "SUCCEEDED", "c": "UNSATISFIED", "d": "UNSATISFIED"}
    assert run.status == "SUCCEEDED"


def test_a_condition_sees_params_of_its_step_before_those_of_the_workflow(on_sqlite: EngineRuns) -> None:
    jobs = (noop("a", x=1), noop("own"), noop("workflows"), noop("both"))
    dag = {"a": ["IF x == 1 THEN own", "IF x == 2 THEN workflows", "IF y == 3 THEN both"]}
    run = on_sqlite.run(flow(*jobs, dag=dag, x=2, y=3))
    assert run.statuses == {
        "a": "SUCCEEDED", "own": "SUCCEEDED", "workflows": "UNSATISFIED", "both": "SUCCEEDED",
    }  # fmt: skip


def test_a_condition_that_fails_is_an_internal_failure_and_other_branches_go_on(
    on_sqlite: EngineRuns,
) -> None:
    bad = probe("a", failure_mode="ignore_failure", retry_policy=NO_RETRY)
    jobs = (bad, noop("b"), noop("other"), noop("after_other"))
    run = on_sqlite.run(flow(*jobs, dag={"a": ["IF nobody + 1 THEN b"], "other": ["after_other"]}))
    assert run.statuses == {"a": "INTERNALLY_FAILED", "other": "SUCCEEDED", "after_other": "SUCCEEDED"}
    assert run.status == "FAILED"


def test_a_diamond_with_a_failed_side_never_begins_its_join(on_sqlite: EngineRuns) -> None:
    jobs = (noop("a"), probe("bad", "FATAL_ERROR"), noop("good"), noop("join"))
    run = on_sqlite.run(flow(*jobs, dag={"a": ["bad", "good"], "bad": ["join"], "good": ["join"]}))
    assert run.statuses == {"a": "SUCCEEDED", "bad": "FATALLY_FAILED", "good": "SUCCEEDED"}
    assert run.status == "FAILED"


def test_skip_rest_ends_a_run_with_all_that_is_left_skipped(on_sqlite: EngineRuns) -> None:
    jobs = (probe("a", "SKIP_REST"), noop("b"), noop("c"))
    run = on_sqlite.run(flow(*jobs, dag="sequential"))
    assert run.statuses == {"a": "SUCCEEDED", "b": "SKIPPED", "c": "SKIPPED"}
    assert run.status == "SUCCEEDED"


def test_another_engine_knows_that_the_rest_is_to_be_skipped(on_sqlite: EngineRuns) -> None:
    jobs = (probe("a", "SKIP_REST"), probe("other", gate="g"), noop("join"))
    started = on_sqlite.start(flow(*jobs, dag={"a": ["join"], "other": ["join"]}))
    on_sqlite.until_step(started, "a", "SUCCEEDED")
    on_sqlite.until_step(started, "other", "RUNNING")
    on_sqlite.engine.stop()
    on_sqlite.start_engine()
    on_sqlite.open("g")
    assert on_sqlite.finished(started).statuses == {"a": "SUCCEEDED", "other": "SUCCEEDED", "join": "SKIPPED"}
