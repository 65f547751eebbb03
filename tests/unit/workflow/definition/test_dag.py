"""Edges: every form of `dag` and `transition`, and what is wrong with them."""

from __future__ import annotations

import textwrap

import pytest

from calve.workflow.definition import load_yaml
from unit.workflow.definition.helpers import refused, successors, workflow

JOBS = "jobs: [{job: {id: a, type: NoOp}}, {job: {id: b, type: NoOp}}, {job: {id: c, type: NoOp}}]\n"


@pytest.mark.parametrize(
    ("dag", "edges"),
    [
        ("", {}),
        ("dag: parallel", {}),
        ("dag: sequential", {"a": {"b": "true"}, "b": {"c": "true"}}),
        ("dag: SEQUENTIAL", {"a": {"b": "true"}, "b": {"c": "true"}}),
        ("dag: {a: [b, c]}", {"a": {"b": "true", "c": "true"}}),
        ("dag: {a: b}", {"a": {"b": "true"}}),
        ("dag: {a: b -> c}", {"a": {"b": "true"}, "b": {"c": "true"}}),
        ("dag: {a: [IF x > 0 THEN b, OTHERWISE c]}", {"a": {"b": "x > 0", "c": "!((x > 0))"}}),
        ("dag: {a: [if x > 0 then b, otherwise c]}", {"a": {"b": "x > 0", "c": "!((x > 0))"}}),
        ("dag: {a: [IF x THEN b, IF y THEN c]}", {"a": {"b": "x", "c": "y"}}),
        ("dag: {a: [OTHERWISE b]}", {"a": {"b": "true"}}),
        ("dag: [a -> b -> c]", {"a": {"b": "true"}, "b": {"c": "true"}}),
        ("dag: [a -> c, b -> c]", {"a": {"c": "true"}, "b": {"c": "true"}}),
        ("dag: [a -> b, a -> b -> c]", {"a": {"b": "true"}, "b": {"c": "true"}}),
        (
            "dag: [a: {IF x > 0: b -> c, OTHERWISE: c}]",
            {"a": {"b": "x > 0", "c": "!((x > 0))"}, "b": {"c": "true"}},
        ),
        ("dag: {a: {IF x > 0: b}}", {"a": {"b": "x > 0"}}),
        ("dag: [{a: [b]}]", {"a": {"b": "true"}}),
        ("dag: [{a: [{IF x > 0: b}, {OTHERWISE: c}]}]", {"a": {"b": "x > 0", "c": "!((x > 0))"}}),
    ],
)
def test_forms_of_dag(dag: str, edges: dict[str, dict[str, str]]) -> None:
    found = successors(workflow(JOBS + dag))
    assert {source: ways for source, ways in found.items() if ways} == edges


def test_three_conditions_make_one_otherwise() -> None:
    text = (
        JOBS.replace("]\n", ", {job: {id: d, type: NoOp}}]\n")
        + "dag: {a: [IF x THEN b, IF y THEN c, OTHERWISE d]}"
    )
    assert successors(workflow(text))["a"]["d"] == "!((x) || (y))"


def test_the_transition_of_a_job_is_stronger_than_the_dag() -> None:
    text = """\
        jobs:
          - job: {id: a, type: NoOp, transition: [c]}
          - job: {id: b, type: NoOp}
          - job: {id: c, type: NoOp}
        dag: sequential
        """
    assert successors(workflow(text)) == {"a": {"c": "true"}, "b": {"c": "true"}, "c": {}}


def test_a_condition_that_is_broken_over_lines_is_put_together_and_keeps_later_places() -> None:
    text = textwrap.dedent("""\
        Workflow:
          id: flow
          script: |
            IF this is
            a script: leave it
          jobs: [{job: {id: a, type: NoOp}}, {job: {id: b, type: NoOp}}]
          dag:
            - a:
                IF x ==
                'y': b ->
                nowhere
                OTHERWISE: b
        """)
    (problem,) = refused(text)
    assert (problem.code, problem.found, problem.at.line) == ("JOB_UNKNOWN", "nowhere", 9)
    loaded = load_yaml(text.replace("b ->\n        nowhere", "b"))
    assert loaded.definition.workflow.params["script"].value == "IF this is\na script: leave it\n"
    assert successors(loaded.definition)["a"] == {"b": "!((x == 'y'))"}


@pytest.mark.parametrize(
    ("dag", "code", "column", "suggestion"),
    [
        ("dag: sequentail", "DAG_SYNTAX", 8, "sequential"),
        ("dag: 5", "DAG_SYNTAX", 8, None),
        ("dag: {x: [a]}", "JOB_UNKNOWN", 9, None),
        ("dag: {a: [bb]}", "JOB_UNKNOWN", 13, "b"),
        ("dag: [a -> bb]", "JOB_UNKNOWN", 14, "b"),
        ("dag: [a -> b ->]", "DAG_SYNTAX", 9, None),
        ("dag: [a => b]", "DAG_SYNTAX", 9, None),
        ("dag: [a: {WHEN x: b}]", "DAG_SYNTAX", 13, None),
        ("dag: {a: [IF x b]}", "DAG_SYNTAX", 13, None),
        ("dag: {a: [OTHERWISE b, c]}", "OTHERWISE_MISPLACED", 23, None),
        ("dag: [a: {OTHERWISE: b, IF x: c}]", "OTHERWISE_MISPLACED", 24, None),
        ("dag: [a -> b -> a]", "DAG_CYCLE", None, None),
        ("dag: {a: [a]}", "DAG_CYCLE", 13, None),
        ("dag: {a: [IF x > THEN b]}", "SEL_SYNTAX", None, None),
        ("dag: {a: {b: 1}}", "DAG_SYNTAX", 13, None),
    ],
)
def test_a_wrong_dag_is_refused_at_its_place(
    dag: str, code: str, column: int | None, suggestion: str | None
) -> None:
    (problem,) = refused(f"Workflow:\n  id: flow\n  {JOBS}  {dag}\n")
    assert (problem.code, problem.at.line) == (code, 4)
    assert problem.at.column == column or column is None
    assert problem.suggestion == suggestion


def test_a_cycle_is_named() -> None:
    (problem,) = refused(f"Workflow:\n  id: flow\n  {JOBS}  dag: [a -> b -> c -> a]\n")
    assert problem.found == "a -> b -> c -> a"


def test_an_edge_into_a_loop_is_refused() -> None:
    text = """\
        Workflow:
          id: flow
          jobs:
            - job: {id: a, type: NoOp, transition: [inner]}
            - foreach: {id: each, params: {i: [1]}, jobs: [{job: {id: inner, type: NoOp}}]}
        """
    (problem,) = refused(text)
    assert (problem.code, problem.at.line, problem.at.column) == ("JOB_UNKNOWN", 4, 45)
    assert "inside or outside of a loop" in problem.reason


def test_the_last_of_two_edges_to_the_same_job_counts_and_is_pointed_out() -> None:
    loaded = load_yaml(f"Workflow:\n  id: flow\n  {JOBS}  dag: {{a: [IF x THEN b, IF y THEN b]}}\n")
    assert successors(loaded.definition)["a"] == {"b": "y"}
    assert [warning.code for warning in loaded.warnings] == ["EDGE_REPEATED"]
