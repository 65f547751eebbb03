"""Which names a param may use."""

from __future__ import annotations

import pytest

from unit.workflow.definition.helpers import read, refused

HEAD = "Workflow:\n  id: flow\n"
JOB = "  jobs: [{job: {id: a, type: NoOp}}]\n"


@pytest.mark.parametrize(
    ("params", "circle"),
    [
        ("  a: ${a}\n", "a"),
        ("  a: x $a y\n", "a"),
        ("  '!a': a + 1\n", "a"),
        ("  a: [x, $a]\n", "a"),
        ("  a: {k: $a}\n", "a"),
        ("  a: {k: $a, n: 1}\n", "a"),
        ("  a: $b\n  b: $c\n  '!c': a\n", "a -> b -> c -> a"),
    ],
)
def test_a_param_that_comes_back_to_itself_is_refused(params: str, circle: str) -> None:
    (problem,) = refused(HEAD + params + JOB)
    assert problem.code == "PARAM_SELF_REFERENCE"
    assert sorted(set((problem.found or "").split(" -> "))) == sorted(set(circle.split(" -> ")))


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "  a: $$a and $${a}\n" + JOB,
        HEAD + "  a: $b\n  b: 1\n" + JOB,
        HEAD + "  i: 1\n  jobs: [{job: {id: a, type: NoOp, '!i<long>': i + 1}}]\n",
        HEAD + "  jobs: [{foreach: {id: e, params: {i: [1]}, jobs: [{job: {id: a, type: NoOp, i: $i}}]}}]\n",
        HEAD
        + "  jobs: [{while: {id: w, condition: n < 1, params: {n: 0}, "
        + "jobs: [{job: {id: a, type: NoOp, '!n<long>': n + 1}}]}}]\n",
        HEAD + "  jobs: [{job: {id: a, type: NoOp, d: $RUN_DATE, s: $step_id, o: '${b__out}'}}]\n",
    ],
)
def test_names_that_are_there_are_neither_errors_nor_warnings(text: str) -> None:
    assert read(text).warnings == []


def test_a_name_that_nobody_defines_is_a_warning_with_its_place() -> None:
    loaded = read(
        HEAD + "  jobs:\n    - job: {id: a, type: NoOp, p: 'x ${missing} y', m: {k: $other, n: 1}}\n"
    )
    assert [(w.code, w.at.line, w.at.column) for w in loaded.warnings] == [
        ("PARAM_UNDEFINED", 4, 35),
        ("PARAM_UNDEFINED", 4, 60),
    ]
    assert "${missing}" in loaded.warnings[0].message


def test_a_loop_s_params_are_not_known_outside_of_it() -> None:
    text = (
        HEAD
        + "  jobs:\n    - foreach: {id: e, params: {i: [1]}, jobs: [{job: {id: a, type: NoOp}}]}\n"
        + "    - job: {id: b, type: NoOp, p: $i}\n"
    )
    assert [warning.code for warning in read(text).warnings] == ["PARAM_UNDEFINED"]
