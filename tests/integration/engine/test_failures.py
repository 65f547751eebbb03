"""Failures: modes, retries, timeouts, and what a run comes to."""

from __future__ import annotations

import pytest

from calve.engine.core import step_params
from support.engine_probe import GATES
from support.engine_runs import NO_RETRY, SOON, EngineRuns, flow, noop, probe

OTHERS = {"bad": ["next"], "other": ["after_other"]}


def test_fail_after_running_lets_other_branches_end(on_sqlite: EngineRuns) -> None:
    jobs = (probe("bad", "FATAL_ERROR"), noop("next"), probe("other", gate="g"), noop("after_other"))
    started = on_sqlite.start(flow(*jobs, dag=OTHERS))
    on_sqlite.until_step(started, "bad", "FATALLY_FAILED")
    on_sqlite.open("g")
    run = on_sqlite.finished(started)
    assert run.statuses == {"bad": "FATALLY_FAILED", "other": "SUCCEEDED", "after_other": "SUCCEEDED"}
    assert run.status == "FAILED"


def test_fail_immediately_stops_all_other_steps(on_sqlite: EngineRuns) -> None:
    bad = probe("bad", "FATAL_ERROR", failure_mode="fail_immediately", gate="bad")
    jobs = (bad, noop("next"), probe("other", gate="never"), noop("after_other"))
    started = on_sqlite.start(flow(*jobs, dag=OTHERS))
    on_sqlite.until_step(started, "other", "RUNNING")
    on_sqlite.open("bad")
    run = on_sqlite.finished(started)
    assert run.statuses == {"bad": "FATALLY_FAILED", "other": "STOPPED"}
    assert run.status == "FAILED"
    assert GATES.cancels["other"] == 1


def test_nothing_begins_after_an_immediate_failure_even_if_what_is_before_it_ends_at_the_same_time(
    on_sqlite: EngineRuns,
) -> None:
    bad = probe("bad", "FATAL_ERROR", failure_mode="fail_immediately", gate="g")
    jobs = (bad, *(probe(f"other{n}", gate="g") for n in range(4)), *(noop(f"after{n}") for n in range(4)))
    dag = {f"other{n}": [f"after{n}"] for n in range(4)}
    on_sqlite.push(flow(*jobs, dag=dag, run_strategy=20))
    for _ in range(5):
        started = on_sqlite.start("w")
        for n in range(4):
            on_sqlite.until_step(started, f"other{n}", "RUNNING", "SUCCEEDED", "STOPPED")
        on_sqlite.open("g")
        run = on_sqlite.finished(started)
        failed_at = run.steps["bad"].ended_at or 0
        late = [name for name, step in run.steps.items() if step.started_at and step.started_at > failed_at]
        assert run.status == "FAILED"
        assert late == []
        GATES.reset()


def test_ignore_failure_completes_with_error_and_successors_run(on_sqlite: EngineRuns) -> None:
    bad = probe("bad", "FATAL_ERROR", failure_mode="ignore_failure", x=7)
    run = on_sqlite.run(
        flow(bad, noop("next"), noop("not"), dag={"bad": ["IF x == 7 THEN next", "OTHERWISE not"]})
    )
    assert run.statuses == {"bad": "COMPLETED_WITH_ERROR", "next": "SUCCEEDED", "not": "UNSATISFIED"}
    assert run.status == "SUCCEEDED"
    assert run.code("bad") == "PROBE"


@pytest.mark.parametrize(
    ("word", "kind", "status"),
    [("USER_ERROR", "error", "USER_FAILED"), ("PLATFORM_ERROR", "platform", "PLATFORM_FAILED"),
     ("TIMED_OUT", "timeout", "TIMEOUT_FAILED"), ("raise", "platform", "PLATFORM_FAILED")],
)  # fmt: skip
def test_each_kind_of_failure_is_tried_again_by_its_own_limit(
    on_sqlite: EngineRuns, word: str, kind: str, status: str
) -> None:
    policy = {**NO_RETRY, f"{kind}_retry_limit": 1, "backoff": SOON}
    run = on_sqlite.run(flow(probe("a", word, "DONE", retry_policy=policy)))
    first, second = run.attempts["a"]
    assert [first.status, second.status] == [status, "SUCCEEDED"]
    assert (second.started_at or 0) - (first.ended_at or 0) >= 1000
    assert run.status == "SUCCEEDED"


@pytest.mark.parametrize(
    ("word", "status", "result"),
    [("USER_ERROR", "FATALLY_FAILED", "FAILED"), ("PLATFORM_ERROR", "FATALLY_FAILED", "FAILED"),
     ("TIMED_OUT", "TIMED_OUT", "TIMED_OUT"), ("STOPPED", "STOPPED", "STOPPED")],
)  # fmt: skip
def test_a_failure_without_retries_left_is_final(
    on_sqlite: EngineRuns, word: str, status: str, result: str
) -> None:
    run = on_sqlite.run(flow(probe("a", word, retry_policy=NO_RETRY)))
    assert run.statuses == {"a": status}
    assert run.status == result


@pytest.mark.slow
def test_retries_that_are_used_up_fail_for_good(on_sqlite: EngineRuns) -> None:
    policy = {"error_retry_limit": "${tries}", "backoff": SOON}
    run = on_sqlite.run(flow(probe("a", "USER_ERROR", retry_policy=policy), tries=2))
    assert [attempt.status for attempt in run.attempts["a"]] == [
        "USER_FAILED",
        "USER_FAILED",
        "FATALLY_FAILED",
    ]


def test_a_retry_policy_that_cannot_be_worked_out_is_an_internal_failure(on_sqlite: EngineRuns) -> None:
    policy = {"error_retry_limit": "${tries}"}
    run = on_sqlite.run(flow(probe("a", "USER_ERROR", retry_policy=policy), noop("b"), tries="many"))
    assert run.statuses == {"a": "INTERNALLY_FAILED", "b": "SUCCEEDED"}
    assert run.status == "FAILED"


def test_a_fatal_error_is_not_tried_again(on_sqlite: EngineRuns) -> None:
    run = on_sqlite.run(flow(probe("a", "FATAL_ERROR", "DONE", retry_policy={"backoff": SOON})))
    assert [attempt.status for attempt in run.attempts["a"]] == ["FATALLY_FAILED"]


@pytest.mark.slow
def test_the_wait_for_a_retry_is_not_cut_short_by_the_timeout_of_the_attempt_before(
    on_sqlite: EngineRuns,
) -> None:
    policy = {"backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 2}}
    run = on_sqlite.run(flow(probe("a", "USER_ERROR", "DONE", timeout="1500ms", retry_policy=policy)))
    first, second = run.attempts["a"]
    assert (second.started_at or 0) - (first.ended_at or 0) >= 2000


@pytest.mark.parametrize("mode", ["fail_after_running", "ignore_failure"])
def test_a_timeout_ends_timed_out_whatever_the_failure_mode(on_sqlite: EngineRuns, mode: str) -> None:
    slow = probe("a", gate="never", timeout="1s", failure_mode=mode)
    run = on_sqlite.run(flow(slow, noop("b"), dag="sequential"))
    assert run.statuses == {"a": "TIMED_OUT"}
    assert run.status == "TIMED_OUT"
    assert GATES.cancels["a"] == 1


def test_a_timeout_of_a_step_in_the_engine_itself(on_sqlite: EngineRuns) -> None:
    sleep = {"job": {"id": "a", "type": "Sleep", "sleep_seconds": 60, "timeout": "${limit}"}}
    run = on_sqlite.run(flow(sleep, limit="200ms"))
    assert run.statuses == {"a": "TIMED_OUT"}


def test_a_timeout_is_tried_again_by_its_limit(on_sqlite: EngineRuns) -> None:
    policy = {"timeout_retry_limit": 1, "backoff": SOON}
    run = on_sqlite.run(flow(probe("a", gate="never", timeout="200ms", retry_policy=policy)))
    assert [attempt.status for attempt in run.attempts["a"]] == ["TIMEOUT_FAILED", "TIMED_OUT"]


def test_a_timeout_that_cannot_be_worked_out_is_an_internal_failure(on_sqlite: EngineRuns) -> None:
    run = on_sqlite.run(flow(probe("a", timeout="${limit}"), noop("b"), limit="soon"))
    assert run.statuses == {"a": "INTERNALLY_FAILED", "b": "SUCCEEDED"}
    assert on_sqlite.permits() == []


def test_the_timeout_of_a_workflow_ends_all_steps(on_sqlite: EngineRuns) -> None:
    run = on_sqlite.run(flow(probe("a", gate="never"), noop("b"), noop("c"), dag={"a": ["c"]}, timeout="3s"))
    assert run.statuses == {"a": "TIMED_OUT", "b": "SUCCEEDED"}
    assert run.status == "TIMED_OUT"


@pytest.mark.parametrize(
    ("words", "result"),
    [(("STOPPED", "TIMED_OUT", "FATAL_ERROR"), "FAILED"), (("STOPPED", "TIMED_OUT"), "TIMED_OUT"),
     (("DONE", "STOPPED"), "STOPPED"), (("DONE", "DONE"), "SUCCEEDED")],
)  # fmt: skip
def test_the_worst_end_of_a_step_is_that_of_the_run(
    on_sqlite: EngineRuns, words: tuple[str, ...], result: str
) -> None:
    jobs = [probe(f"s{number}", word, retry_policy=NO_RETRY) for number, word in enumerate(words)]
    assert on_sqlite.run(flow(*jobs)).status == result


def test_a_run_that_the_engine_cannot_handle_fails_alone(
    on_sqlite: EngineRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = step_params.merge_step_params

    def broken(run: object, step: object, types: object) -> object:
        if getattr(run, "workflow_id", "") == "poison":
            raise ZeroDivisionError("a fault of the engine")
        return real(run, step, types)  # type: ignore[arg-type]

    monkeypatch.setattr(step_params, "merge_step_params", broken)
    on_sqlite.push(flow(noop("a"), id="poison"))
    parent = on_sqlite.start(flow({"subworkflow": {"id": "p", "workflow_id": "poison"}}, id="parent"))
    poisoned = on_sqlite.start("poison")
    healthy = on_sqlite.start(flow(noop("a"), id="healthy"))
    assert on_sqlite.finished(healthy).status == "SUCCEEDED"
    assert on_sqlite.finished(poisoned).status == "FAILED"
    assert on_sqlite.finished(parent).status == "FAILED"
    assert on_sqlite.finished(on_sqlite.start("poison")).status == "FAILED"
