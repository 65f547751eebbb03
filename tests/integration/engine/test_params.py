"""Params of a run: given at the start, in steps, from steps, signals and outputs; and what fails."""

from __future__ import annotations

from typing import Any

import pytest

from calve.errors import CalveError
from calve.workflow.params import ParamDefinition
from support.engine_runs import NO_RETRY, SOON, EngineRuns, flow, noop, probe


def test_run_params_change_those_of_the_workflow(on_both: EngineRuns) -> None:
    run = on_both.run(
        flow(noop("a", said="$region $n"), region="eu", n=1, **{"!twice<long>": "n * 2;"}), n=21
    )
    assert run.params["twice"] == 42
    assert run.steps["a"].params["said"] == "eu 21"


@pytest.mark.parametrize(("key", "value"), [("n", "many"), ("flag", 3), ("list", "x")])
def test_a_run_param_of_the_wrong_type_is_refused_at_the_start(
    on_sqlite: EngineRuns, key: str, value: Any
) -> None:
    on_sqlite.push(flow(noop("a"), n=1, flag=True, list=["a"]))
    with pytest.raises(CalveError) as refused:
        on_sqlite.start("w", None, **{key: value})
    assert key in refused.value.message
    assert on_sqlite.run("w").instance_id == 1


@pytest.mark.parametrize("mode", ["immutable", "constant"])
def test_a_param_that_may_not_be_changed_is_refused_at_the_start(on_sqlite: EngineRuns, mode: str) -> None:
    keys: dict[str, Any] = {f"n<long>({mode})": 1}
    on_sqlite.push(flow(noop("a"), **keys))
    with pytest.raises(CalveError, match="'n'"):
        on_sqlite.start("w", n=2)


def test_mutable_on_start_may_not_change_at_a_restart(on_sqlite: EngineRuns) -> None:
    keys: dict[str, Any] = {"n<long>(mutable_on_start)": 1}
    on_sqlite.push(flow(probe("a", "FATAL_ERROR"), **keys))
    failed = on_sqlite.run("w", n=2)
    assert failed.params["n"] == 2
    with pytest.raises(CalveError, match="'n'"):
        on_sqlite.restart(failed, params={"n": ParamDefinition.infer("n", 3)})


def test_a_name_that_nobody_gives_is_an_error_at_the_start(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("a"), where="/data/${region}"))
    with pytest.raises(CalveError, match="'region'"):
        on_sqlite.start("w")
    assert on_sqlite.run("w", region="eu").params["where"] == "/data/eu"


def test_params_for_a_single_step_at_the_start(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("a", n=1), noop("b", n=1)))
    run = on_sqlite.run("w", {"step_params": {"b": {"n": ParamDefinition.infer("n", 5)}}})
    assert (run.steps["a"].params["n"], run.steps["b"].params["n"]) == (1, 5)


def test_a_step_sees_finished_steps_before_it_and_their_status(on_sqlite: EngineRuns) -> None:
    asks = {
        "!rows<long>": "params.getFromStep('a', 'rows') + 1;",
        "!how<string>": "params.getFromStep('a', 'MAESTRO_STEP_STATUS');",
        "!bad<string>": "params.getFromStep('b', 'MAESTRO_STEP_STATUS');",
        "!me<string>": "params.getFromStep('step_id');",
        "!who<string>": "params.getFromInstance('INITIATOR_TYPE') + params.getFromInstance('owner');",
        "short": "${a__rows}",
    }
    jobs = (noop("a", rows=41), probe("b", "FATAL_ERROR", failure_mode="ignore_failure"), noop("c", **asks))
    run = on_sqlite.run(flow(*jobs, dag="sequential"))
    found = run.steps["c"].params
    assert [found[name] for name in ("rows", "how", "bad")] == [42, "SUCCEEDED", "COMPLETED_WITH_ERROR"]
    assert [found[name] for name in ("me", "who", "short")] == ["c", "MANUALada", "41"]


def test_a_step_param_builds_on_the_workflow_param_of_the_same_name(on_sqlite: EngineRuns) -> None:
    run = on_sqlite.run(flow(noop("a", **{"!i<long>": "i + 1;"}), i=1))
    assert run.steps["a"].params["i"] == 2


def test_what_a_step_has_under_a_name_of_its_workflow_is_what_all_of_the_step_sees(
    on_sqlite: EngineRuns,
) -> None:
    script = """echo '{"found": "${TABLE}"}' > "$$CALVE_OUTPUT\""""
    shell = {
        "id": "a",
        "type": "Shell",
        "script": script,
        "TABLE": "of_step",
        "found": "",
        "before": "$TABLE",
    }
    run = on_sqlite.run(flow({"job": shell}, TABLE="of_workflow"))
    assert (run.steps["a"].params["found"], run.steps["a"].params["before"]) == ("of_step", "of_step")


def test_what_a_type_requires_may_stand_in_its_section(on_sqlite: EngineRuns) -> None:
    run = on_sqlite.run(flow({"job": {"id": "a", "type": "Shell", "shell": {"script": "exit 0"}}}))
    assert run.status == "SUCCEEDED", run.steps["a"].error


def test_outputs_become_params_of_the_step_and_steer_its_edges(on_both: EngineRuns) -> None:
    jobs = (probe("a", give={"rows": "5"}, rows=0), noop("some", said="${a__rows}"), noop("none"))
    run = on_both.run(flow(*jobs, dag={"a": ["IF rows > 0 THEN some", "OTHERWISE none"]}))
    assert run.steps["a"].params["rows"] == 5
    assert run.statuses == {"a": "SUCCEEDED", "some": "SUCCEEDED", "none": "UNSATISFIED"}
    assert run.steps["some"].params["said"] == "5"


def test_a_shell_writes_outputs(on_sqlite: EngineRuns) -> None:
    script = 'echo \'{"rows": 7}\' > "$CALVE_OUTPUT"'.replace("$", "$$")
    shell = {"job": {"id": "a", "type": "Shell", "script": script, "rows": 0}}
    run = on_sqlite.run(flow(shell, noop("b", said="${a__rows}"), dag="sequential"))
    assert run.statuses == {"a": "SUCCEEDED", "b": "SUCCEEDED"}, run.steps["a"].error
    assert run.steps["b"].params["said"] == "7"


@pytest.mark.parametrize(
    ("given", "declared"),
    [
        ({"rows": "x"}, {"rows": 0}),
        ({"other": "1"}, {"rows": 0}),
        ({"rows": "1"}, {"rows<long>(immutable)": 0}),
    ],
    ids=["type", "undeclared", "mode"],
)
def test_an_output_that_does_not_fit_is_an_internal_failure(
    on_sqlite: EngineRuns, given: dict[str, str], declared: dict[str, Any]
) -> None:
    run = on_sqlite.run(flow(probe("a", give=given, retry_policy=NO_RETRY, **declared), noop("b")))
    assert run.statuses == {"a": "INTERNALLY_FAILED", "b": "SUCCEEDED"}
    assert run.status == "FAILED"


@pytest.mark.parametrize(
    "param",
    [{"!x<long>": "throw 'no';"}, {"x": "${nobody}"}, {"!x<long>": "'text';"},
     {"!x<string>": "params.getFromStep('b', 'rows');"}],
    ids=["throw", "unknown", "type", "unfinished"],
)  # fmt: skip
def test_a_step_param_that_cannot_be_evaluated_is_an_internal_failure_without_retry(
    on_sqlite: EngineRuns, param: dict[str, str]
) -> None:
    bad = probe("a", failure_mode="ignore_failure", **param)
    run = on_sqlite.run(flow(bad, noop("after"), probe("b"), noop("c"), dag={"a": ["after"], "b": ["c"]}))
    assert run.statuses == {"a": "INTERNALLY_FAILED", "b": "SUCCEEDED", "c": "SUCCEEDED"}
    assert len(run.attempts["a"]) == 1
    assert run.status == "FAILED"


def test_attempts_know_how_often_they_were_tried(on_sqlite: EngineRuns) -> None:
    tries = {"!tries<long>": "params.getFromStep('MAESTRO_STEP_ERROR_RETRIES');"}
    run = on_sqlite.run(flow(probe("a", "USER_ERROR", "DONE", retry_policy={"backoff": SOON}, **tries)))
    assert [attempt.params["tries"] for attempt in run.attempts["a"]] == [0, 1]
    assert [attempt.params["step_attempt_id"] for attempt in run.attempts["a"]] == [1, 2]


def test_a_restart_keeps_results_and_evaluates_immutable_params_again(on_sqlite: EngineRuns) -> None:
    unique = "UUID.randomUUID().toString();"
    keys: dict[str, Any] = {
        "!kept<string>": unique,
        "!fresh<string>(immutable)": unique,
        "!stays<string>(constant)": unique,
    }
    failed = on_sqlite.run(flow(probe("a", "FATAL_ERROR"), **keys))
    again = on_sqlite.rerun(failed)
    assert again.params["kept"] == failed.params["kept"]
    assert again.params["stays"] == failed.params["stays"]
    assert again.params["fresh"] != failed.params["fresh"]
