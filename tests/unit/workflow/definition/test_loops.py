"""Loops and subworkflows."""

from __future__ import annotations

import pytest

from calve.workflow.definition import ForeachStep, SubworkflowStep, WhileStep
from calve.workflow.params.model import ParamType
from unit.workflow.definition.helpers import refused, workflow

INNER = "jobs: [{job: {id: inner, type: NoOp}}]"
REUSING = f"{{while: {{id: again, condition: i < 1, params: {{i: 0}}, {INNER}}}}}"


def test_ranges_come_after_params_as_expressions() -> None:
    ranges = "{h: {to: 24}, d: {from: 3, to: 0, increment: -1}}"
    text = f"jobs: [{{foreach: {{id: each, ranges: {ranges}, params: {{x: [1]}}, {INNER}}}}}]"
    (step,) = workflow(text).workflow.steps
    assert isinstance(step, ForeachStep)
    assert list(step.loop_params) == ["x", "h", "d"]
    assert step.loop_params["h"].expression == "Util.intsBetween(0, 24, 1);"
    assert step.loop_params["d"].expression == "Util.intsBetween(3, 0, -1);"
    assert step.loop_params["h"].type is ParamType.LONG_ARRAY


def test_both_names_of_a_word_mean_the_same() -> None:
    one = workflow(f"jobs: [{{foreach: {{id: each, concurrency: 2, params: {{i: [1]}}, {INNER}}}}}]")
    other = workflow(
        f"jobs: [{{foreach: {{id: each, job_concurrency: 2, loop_params: {{i: [1]}}, {INNER}}}}}]"
    )
    assert one == other


def test_a_while_starts_with_its_params() -> None:
    (step,) = workflow(
        f"jobs: [{{while: {{id: again, condition: n < 3, params: {{n: 0}}, {INNER}}}}}]"
    ).workflow.steps
    assert isinstance(step, WhileStep)
    assert step.condition == "n < 3"
    assert step.loop_params["n"].value == 0


def test_a_subworkflow_is_the_one_of_the_same_id_unless_it_says_otherwise() -> None:
    text = """\
        jobs:
          - subworkflow: {id: a}
          - subworkflow: {id: b, workflow_id: c, version: 3, sync: false}
          - subworkflow: {id: d, '!subworkflow_id': x}
        """
    first, second, third = workflow(text).workflow.steps
    assert isinstance(first, SubworkflowStep)
    assert isinstance(second, SubworkflowStep)
    assert isinstance(third, SubworkflowStep)
    assert first.workflow_id.value == "a"
    assert second.workflow_id.value == "c"
    assert second.params["subworkflow_version"].value == "3"
    assert second.sync is False
    assert third.workflow_id.expression == "x"


@pytest.mark.parametrize(
    ("loop", "code"),
    [
        (f"foreach: {{id: each, {INNER}}}", "LOOP_PARAMS_MISSING"),
        (f"foreach: {{id: each, params: {{}}, {INNER}}}", "LOOP_PARAMS_MISSING"),
        (f"foreach: {{id: each, params: {{i: 1}}, {INNER}}}", "LOOP_PARAM_TYPE"),
        (f"foreach: {{id: each, params: {{'!i': x}}, {INNER}}}", "LOOP_PARAM_TYPE"),
        (f"foreach: {{id: each, params: 3, {INNER}}}", "TYPE_MISMATCH"),
        (f"foreach: {{id: each, params: {{i: [1]}}, concurrency: 501, {INNER}}}", "OUT_OF_BOUNDS"),
        (f"foreach: {{id: each, ranges: {{i: {{from: 1}}}}, {INNER}}}", "RANGE_INVALID"),
        (f"foreach: {{id: each, ranges: {{i: {{to: x}}}}, {INNER}}}", "RANGE_INVALID"),
        (f"foreach: {{id: each, ranges: {{i: {{to: 3, step: 2}}}}, {INNER}}}", "RANGE_INVALID"),
        (f"while: {{id: again, params: {{n: 0}}, {INNER}}}", "KEY_MISSING"),
        (f"while: {{id: again, condition: 'n <', params: {{n: 0}}, {INNER}}}", "SEL_SYNTAX"),
        (f"while: {{id: again, condition: n < 3, params: {{n: [1]}}, {INNER}}}", "LOOP_PARAM_TYPE"),
        ("while: {id: again, condition: n < 3, params: {n: 1}}", "KEY_MISSING"),
        ("while: {id: again, condition: n < 3, params: {n: 1}, jobs: []}", "LIST_EMPTY"),
        (
            f"foreach: {{id: each, params: {{i: [1]}}, jobs: [{REUSING}]}}",
            "LOOP_PARAM_REUSED",
        ),
    ],
)
def test_a_loop_that_cannot_run_is_refused(loop: str, code: str) -> None:
    problems = refused(f"Workflow:\n  id: flow\n  jobs: [{{{loop}}}]\n")
    assert code in {problem.code for problem in problems}


def test_loops_side_by_side_may_share_a_param() -> None:
    one = "{foreach: {id: a, params: {i: [1]}, jobs: [{job: {id: x, type: NoOp}}]}}"
    other = "{foreach: {id: b, params: {i: [1]}, jobs: [{job: {id: y, type: NoOp}}]}}"
    assert len(workflow(f"jobs: [{one}, {other}]").workflow.steps) == 2


@pytest.mark.parametrize(("depth", "is_fine"), [(9, True), (10, False)])
def test_loops_go_ten_levels_deep(depth: int, is_fine: bool) -> None:
    body = "{job: {id: leaf, type: NoOp}}"
    for level in range(depth):
        body = f"{{foreach: {{id: each{level}, params: {{i{level}: [1]}}, jobs: [{body}]}}}}"
    if is_fine:
        assert len(list(workflow(f"jobs: [{body}]").workflow.all_steps())) == depth + 1
    else:
        assert [problem.code for problem in refused(f"Workflow:\n  id: flow\n  jobs: [{body}]\n")] == [
            "DEPTH_LIMIT"
        ]
