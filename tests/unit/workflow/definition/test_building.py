"""Definitions in Python."""

from __future__ import annotations

import pytest

import calve
from calve import Workflow, foreach, job, param, sel, subworkflow, while_
from calve.errors import UsageError
from calve.workflow.definition import InvalidDefinitionError, load_yaml
from calve.workflow.definition.steps import NO_CONDITION
from unit.workflow.definition.helpers import define, successors

ORDERS = """\
Trigger: {cron: '@daily'}
Workflow:
  id: demo.orders
  owner: alice
  run_strategy: parallel
  workflow_concurrency: 3
  tags: [demo]
  timeout: 2h
  criticality: HIGH
  from_date: 20240101
  region: us
  '!dates<array<long>>': "Util.dateIntsBetween(from_date, 20240103, 1);"
  'limit<long>(constant)': 100
  jobs:
    - job:
        id: prepare
        type: NoOp
        rows: 42
        transition:
          - IF rows > 0 THEN per_day
          - OTHERWISE done
    - foreach:
        id: per_day
        concurrency: 2
        params: {'!date<array<long>>': "dates"}
        ranges: {hour: {from: 0, to: 2}}
        jobs:
          - job: {id: load, type: shell, type_version: v1, script: "load.sh $region $date $hour"}
          - subworkflow:
              {id: check, workflow_id: demo.check, version: latest, sync: true, explicit_params: true,
               day: $date}
        dag: sequential
    - while:
        id: settle
        params: {n: 0}
        condition: "n < 3"
        jobs:
          - job: {id: tick, type: Sleep, sleep_seconds: 1, '!n<long>': "n + 1"}
        dag: parallel
    - job: {id: done, type: NoOp, failure_mode: ignore_failure}
  dag:
    per_day: [settle]
    settle: [done]
"""


def orders() -> Workflow:
    dates = sel("Util.dateIntsBetween(from_date, 20240103, 1);", "array<long>")
    with Workflow(
        "demo.orders",
        owner="alice",
        trigger={"cron": "@daily"},
        run_strategy="parallel",
        workflow_concurrency=3,
        tags=["demo"],
        timeout="2h",
        criticality="HIGH",
        from_date=20240101,
        region="us",
        dates=dates,
        limit=param(100, "long", "constant"),
    ) as flow:
        prepare = job("prepare", "NoOp", rows=42)
        loop = {"date": sel("dates", "array<long>")}
        with foreach("per_day", loop, ranges={"hour": {"from": 0, "to": 2}}, concurrency=2) as per_day:
            load = job("load", "Shell", type_version="v1", script="load.sh $region $date $hour")
            load >> subworkflow(
                "check", "demo.check", version="latest", sync=True, explicit_params=True, day="$date"
            )
        with while_("settle", "n < 3", {"n": 0}) as settle:
            job("tick", "Sleep", sleep_seconds=1, n=sel("n + 1", "long"))
        done = job("done", "NoOp", failure_mode="ignore_failure")
        prepare.when("rows > 0") >> per_day >> settle >> done
        prepare.otherwise() >> done
    return flow


def test_python_and_yaml_come_to_the_same_model() -> None:
    assert orders().definition == define(ORDERS)


def test_printed_it_is_yaml_that_reads_back() -> None:
    flow = orders()
    assert load_yaml(str(flow)).definition == flow.definition


def test_lists_of_jobs_fan_out_and_in() -> None:
    with Workflow("flow") as flow:
        a, b, c, d = (job(name, "NoOp") for name in "abcd")
        a >> [b, c] >> d
    yes = NO_CONDITION
    assert successors(flow.definition) == {
        "a": {"b": yes, "c": yes},
        "b": {"d": yes},
        "c": {"d": yes},
        "d": {},
    }


def test_a_branch_may_lead_to_several_jobs() -> None:
    with Workflow("flow") as flow:
        a, b, c = (job(name, "NoOp") for name in "abc")
        a.when("1 > 0") >> [b, c]
    assert successors(flow.definition)["a"] == {"b": "1 > 0", "c": "1 > 0"}


def test_params_that_are_words_or_no_names_of_python_go_into_params() -> None:
    with Workflow("flow", params={"a.b": 1, "!x<long>": "1 + 1"}) as flow:
        job("a", "NoOp", params={"dash-ed": "y"})
    definition = flow.definition.workflow
    assert set(definition.params) == {"a.b", "x"}
    assert definition.steps[0].params["dash-ed"].value == "y"


def test_errors_point_at_the_line_of_the_call() -> None:
    with Workflow("flow") as flow:
        first = job("a", "Sprak")
        first >> first
    with pytest.raises(InvalidDefinitionError) as caught:
        flow.build()
    lines = [(problem.code, problem.at.line) for problem in caught.value.problems]
    here = test_errors_point_at_the_line_of_the_call.__code__.co_firstlineno
    assert lines == [("STEP_TYPE_UNKNOWN", here + 2), ("DAG_CYCLE", here + 3)]
    assert caught.value.problems[0].at.file == __file__
    assert caught.value.problems[0].suggestion == "Spark"


def test_a_job_outside_of_a_workflow_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        job("a", "NoOp")
    assert caught.value.code == "JOB_OUTSIDE_WORKFLOW"


def test_a_workflow_that_fails_to_build_leaves_nothing_open() -> None:
    with pytest.raises(ZeroDivisionError), Workflow("flow"), foreach("each", {"i": [1]}):
        raise ZeroDivisionError
    with pytest.raises(UsageError):
        job("a", "NoOp")


def test_the_words_are_exported_by_the_package() -> None:
    assert {"Workflow", "foreach", "job", "param", "sel", "subworkflow", "while_"} <= set(dir(calve))
