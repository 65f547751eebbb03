"""Triggers on tables and waits for tables in the definition language."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calve.workflow.definition import WorkflowDefinition, load_json, load_yaml
from calve.workflow.definition.building import Workflow, job
from calve.workflow.definition.captures import CaptureSource, capture_sources
from calve.workflow.definition.problems import InvalidDefinitionError
from calve.workflow.definition.writing.text import to_yaml

NOOP = "{job: {id: a, type: NoOp}}"


def text_of(trigger: str, *jobs: str, params: str = "") -> str:
    listed = "".join(f"    - {job}\n" for job in jobs or (NOOP,))
    return f"Trigger: {trigger}\nWorkflow:\n  id: w\n{params}  jobs:\n{listed}"


def load(trigger: str, *jobs: str, params: str = "") -> WorkflowDefinition:
    return load_yaml(text_of(trigger, *jobs, params=params)).definition


def triggers_of(definition: WorkflowDefinition) -> list[dict[str, Any]]:
    return [trigger.to_json() for trigger in definition.workflow.incremental_triggers]


CAPTURE = "{job: {id: capture, type: IpCapture, ip_capture: {source_tables: [db.a, db.b]}}}"


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ("{incremental: db.t}", {"tables": ["db.t"]}),
        ("{incremental: [db.t, db.u]}", {"tables": ["db.t", "db.u"]}),
        ("{incremental: true}", {}),
        ("{incremental: {}}", {}),
        ("{incremental: {source_tables: [db.t]}}", {"tables": ["db.t"]}),
        (
            "{incremental: {tables: db.t, data_operations: DELETE}}",
            {"tables": ["db.t"], "data_operations": ["delete"]},
        ),
        (
            "{incremental: {tables: d.t, every: 15m, min_files: 2, min_rows: 3, min_bytes: 4, max_delay: 1}}",
            {
                "tables": ["d.t"],
                "every": "15m",
                "min_files": 2,
                "min_rows": 3,
                "min_bytes": 4,
                "max_delay": 1,
            },
        ),
    ],
)
def test_a_trigger_on_tables_is_the_same_in_yaml_and_json(trigger: str, expected: dict[str, Any]) -> None:
    definition = load(trigger, CAPTURE)
    assert triggers_of(definition) == [expected]
    assert load_yaml(to_yaml(definition)).definition == definition
    assert load_json(json.dumps(definition.to_json())).definition == definition


def test_durations_of_a_trigger_are_known_in_milliseconds() -> None:
    (trigger,) = load(
        "{incremental: {tables: db.t, every: 15m, max_delay: 90}}"
    ).workflow.incremental_triggers
    assert (trigger.every_ms, trigger.max_delay_ms, trigger.has_thresholds) == (900_000, 90_000, False)


@pytest.mark.parametrize(
    ("trigger", "code", "column"),
    [
        ("{incremental: {tables: [db.t], evry: 1m}}", "KEY_UNKNOWN", 41),
        ("{incremental: {tables: [db.t], every: soon}}", "DURATION_INVALID", 48),
        ("{incremental: {tables: [db.t], every: 0}}", "DURATION_INVALID", 48),
        ("{incremental: {tables: [db.t], max_delay: '${p}'}}", "DURATION_INVALID", 52),
        ("{incremental: {tables: [db.t], min_rows: 0}}", "OUT_OF_BOUNDS", 51),
        ("{incremental: {tables: [db.t], min_rows: many}}", "TYPE_MISMATCH", 51),
        ("{incremental: {tables: [db.t], data_operations: [merge]}}", "VALUE_UNKNOWN", 59),
        ("{incremental: {tables: [db.t], source_tables: [db.t]}}", "KEY_DUPLICATE", 41),
        ("{incremental: {tables: []}}", "LIST_EMPTY", 33),
        ("{incremental: true}", "TRIGGER_TABLES_MISSING", 24),
        ("{incremental: {every: 1m}}", "TRIGGER_TABLES_MISSING", 24),
    ],
)
def test_what_is_wrong_with_a_trigger_is_told_with_its_place(trigger: str, code: str, column: int) -> None:
    with pytest.raises(InvalidDefinitionError) as caught:
        load(trigger)
    (problem,) = caught.value.problems
    assert (problem.code, problem.at.line, problem.at.column) == (code, 1, column)


def test_both_names_of_the_tables_are_refused_in_json_too() -> None:
    document = load("{incremental: db.t}").to_json()
    document["workflow"]["incremental_triggers"] = [{"tables": ["a.b"], "source_tables": ["a.b"]}]
    with pytest.raises(InvalidDefinitionError) as caught:
        load_json(json.dumps(document))
    assert caught.value.code == "KEY_DUPLICATE"


def test_a_trigger_on_tables_may_be_written_in_python() -> None:
    with Workflow("w", trigger={"incremental": {"tables": ["db.t"], "every": "15m"}}) as made:
        job("a", "NoOp", signal_dependencies=[{"table": "db.t", "valid_through": "2024-01-31"}])
    assert triggers_of(made.definition) == [{"tables": ["db.t"], "every": "15m"}]
    assert load_yaml(str(made)).definition == made.definition


# What the tables default to


def sources(*jobs: str, params: str = "") -> list[CaptureSource]:
    return capture_sources(load("{incremental: true}", *jobs, params=params).workflow)


def test_the_sources_of_capture_steps_are_found() -> None:
    options = "{source_tables: db.a, consumer: me, data_operations: [delete]}"
    two = f"{{job: {{id: c, type: ipcapture, ip_capture: {options}}}}}"
    note = "{job: {id: n, type: ICDC, sourceTable: db.n}}"
    assert sources(CAPTURE, two, note) == [
        CaptureSource("capture", "db.a", None, None, ("append",)),
        CaptureSource("capture", "db.b", None, None, ("append",)),
        CaptureSource("c", "db.a", None, "me", ("delete",)),
        CaptureSource("n", "db.n", None, None, ("append",)),
    ]


def test_a_source_may_name_a_branch() -> None:
    one = "{job: {id: c, type: IpCapture, ip_capture: {source_tables: {table: db.a, branch: audit}}}}"
    text = (
        '{job: {id: d, type: IpCapture, ip_capture: {source_tables: [\'{"table": "db.b", "branch": "x"}\']}}}'
    )
    assert [(found.table, found.branch) for found in sources(one, text)] == [("db.a", "audit"), ("db.b", "x")]


def test_a_source_may_be_a_param_of_the_workflow() -> None:
    capture = "{job: {id: c, type: IpCapture, ip_capture: {source_tables: ['${schema}.t']}}}"
    assert [found.table for found in sources(capture, params="  schema: raw\n")] == ["raw.t"]


def test_a_source_that_follows_from_another_step_needs_tables_in_the_trigger() -> None:
    capture = "{job: {id: c, type: IpCapture, ip_capture: {source_tables: ['${before__t}']}}}"
    with pytest.raises(InvalidDefinitionError) as caught:
        load("{incremental: true}", "{job: {id: before, type: NoOp, t: x}}", capture)
    assert caught.value.problems[0].code == "TRIGGER_TABLES_MISSING"
    named = load("{incremental: db.t}", "{job: {id: before, type: NoOp, t: x}}", capture)
    assert capture_sources(named.workflow) == []


# Waiting for a table


def dependencies(text: str) -> list[dict[str, Any]]:
    job = f"{{job: {{id: a, type: NoOp, signal_dependencies: {text}}}}}"
    definition = load("{cron: '@daily'}", job, params="  day: '2024-01-31'\n")
    assert load_yaml(to_yaml(definition)).definition == definition
    found: list[dict[str, Any]] = definition.to_json()["workflow"]["steps"][0]["step"]["signal_dependencies"]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[{table: db.t, valid_through: 2024-01-31}]", {"value": "2024-01-31", "type": "STRING"}),
        ("[{table: db.t, valid_through: 1706659200000}]", {"value": 1706659200000, "type": "LONG"}),
        ("[{table: db.t, '!valid_through': day}]", {"expression": "day", "type": "STRING"}),
        ("{table: db.t, '!valid_through<long>': RUN_TS}", {"expression": "RUN_TS", "type": "LONG"}),
    ],
)
def test_a_step_may_wait_for_a_table(text: str, expected: dict[str, Any]) -> None:
    assert dependencies(text) == [{"table": "db.t", "valid_through": expected}]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[{table: db.t}]", "KEY_MISSING"),
        ("[{table: db.t, valid_through: true}]", "SIGNAL_INVALID"),
        ("[{table: db.t, valid_through: x, name: s}]", "KEY_UNKNOWN"),
        ("[{table: db.t, '!valid_through': '1 +'}]", "SEL_SYNTAX"),
    ],
)
def test_what_is_wrong_with_such_a_wait_is_told(text: str, code: str) -> None:
    with pytest.raises(InvalidDefinitionError) as caught:
        dependencies(text)
    assert code in {problem.code for problem in caught.value.problems}
