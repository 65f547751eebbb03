"""What stands beside the jobs: triggers, signals, properties; and the two other forms, JSON and Python."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calve.errors import UsageError
from calve.workflow.definition import check_definition, load_json, load_yaml, to_yaml
from calve.workflow.definition.model import WorkflowDefinition
from unit.workflow.definition.helpers import define, read, refused

JOBS = "  jobs: [{job: {id: a, type: NoOp}}]\n"
FLOW = "Workflow:\n  id: flow\n" + JOBS


def triggers(text: str) -> dict[str, Any]:
    found = define(FLOW + f"Trigger: {text}\n").workflow.to_json()
    return {key: value for key, value in found.items() if key.endswith("triggers")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{cron: '@daily'}", {"time_triggers": [{"type": "PREDEFINED", "expression": "@daily"}]}),
        (
            "{cron: '*/5 * * * *', timezone: UTC, fuzzy_max_delay: 1min}",
            {
                "time_triggers": [
                    {"type": "CRON", "cron": "*/5 * * * *", "timezone": "UTC", "fuzzy_max_delay": "1min"}
                ]
            },
        ),
        ("{signal: db/t}", {"signal_triggers": [{"definitions": {"db/t": {}}}]}),
        ("{signal: [a, b]}", {"signal_triggers": [{"definitions": {"a": {}, "b": {}}}]}),
        (
            "{signal: {name: a, match_params: {day: 3, h: {value: 5, operator: '>'}}, join_keys: [k]}}",
            {
                "signal_triggers": [
                    {
                        "definitions": {
                            "a": {
                                "match_params": {
                                    "day": {"value": 3, "operator": "="},
                                    "h": {"value": 5, "operator": ">"},
                                },
                                "join_keys": ["k"],
                            }
                        }
                    }
                ]
            },
        ),
        (
            "{signal: {definitions: {a: {}, b: {}}, params: {p: 1}, condition: p > 0, dedup_expr: \"'x'\"}}",
            {
                "signal_triggers": [
                    {
                        "definitions": {"a": {}, "b": {}},
                        "params": {"p": {"value": 1, "type": "LONG"}},
                        "condition": "p > 0",
                        "dedup_expr": "'x'",
                    }
                ]
            },
        ),
        ("{incremental: db.t}", {"incremental_triggers": [{"tables": ["db.t"]}]}),
        (
            "{incremental: {source_tables: [a, b], data_operations: [append]}}",
            {"incremental_triggers": [{"tables": ["a", "b"], "data_operations": ["append"]}]},
        ),
        (
            "[{cron: '@daily'}, {cron: '0 5 * * *'}, {signal: s}]",
            {
                "time_triggers": [
                    {"type": "PREDEFINED", "expression": "@daily"},
                    {"type": "CRON", "cron": "0 5 * * *"},
                ],
                "signal_triggers": [{"definitions": {"s": {}}}],
            },
        ),
    ],
)
def test_triggers(text: str, expected: dict[str, Any]) -> None:
    assert triggers(text) == expected


def test_a_cron_may_fire_every_minute() -> None:
    assert triggers("{cron: '* * * * *'}")


def test_signals_of_a_job_are_names_or_have_params() -> None:
    definition = define(
        """\
        Workflow:
          id: flow
          jobs:
            - job:
                id: a
                type: NoOp
                signal_dependencies:
                  - db/x
                  - name: db/y
                    match_params:
                      '!day<long>': RUN_DATE
                      hour: {value: 3, operator: '>='}
                      zone: {param: {value: UTC, type: STRING}, operator: =}
                signal_outputs: [db/z, {name: db/w, params: {day: $RUN_DATE}, payload: {rows: 1}}]
        """
    )
    step = definition.workflow.steps[0].to_json()
    assert step["signal_dependencies"] == [
        {"name": "db/x"},
        {
            "name": "db/y",
            "match_params": {
                "day": {"param": {"expression": "RUN_DATE", "type": "LONG"}, "operator": "="},
                "hour": {"param": {"value": 3, "type": "LONG"}, "operator": ">="},
                "zone": {"param": {"value": "UTC", "type": "STRING"}, "operator": "="},
            },
        },
    ]
    assert step["signal_outputs"] == [
        {"name": "db/z"},
        {
            "name": "db/w",
            "params": {"day": {"value": "$RUN_DATE", "type": "STRING"}},
            "payload": {"rows": {"value": 1, "type": "LONG"}},
        },
    ]
    assert load_yaml(to_yaml(definition)).definition == definition


def test_what_is_not_said_of_the_properties_is_the_default() -> None:
    properties = define(FLOW).properties.to_json()
    assert properties == {
        "run_strategy": {"rule": "SEQUENTIAL", "workflow_concurrency": 1},
        "step_concurrency": 20,
    }


def test_properties_metadata_and_git_are_kept() -> None:
    definition = define(
        "Properties: {alerting: {emails: [a@b.c]}, time_trigger_disabled: true}\n"
        "metadata: {team: data}\ngit_info: {sha: abc}\nis_active: false\n" + FLOW
    )
    made = definition.to_json()
    assert made["properties"]["alerting"] == {"emails": ["a@b.c"]}
    assert made["properties"]["time_trigger_disabled"] is True
    assert (made["team"], made["git_info"], made["is_active"]) == ("data", {"sha": "abc"}, False)
    assert load_yaml(to_yaml(definition)).definition == definition


def test_concurrency_without_a_strategy_is_pointed_out() -> None:
    loaded = read(FLOW.replace(JOBS, "  workflow_concurrency: 5\n" + JOBS))
    assert [warning.code for warning in loaded.warnings] == ["WORD_WITHOUT_EFFECT"]


REQUEST: dict[str, Any] = {
    "properties": {"owner": {"name": "alice", "team": "data"}, "run_strategy": 3, "access_control": {}},
    "is_active": True,
    "additional": {"note": 1},
    "git_info": {"branch": "main", "timestamp": 1, "uncommitted_changes": False},
    "workflow": {
        "id": "flow",
        "instance_step_concurrency": 10,
        "tags": ["t", {"name": "u", "namespace": "platform", "creator": "alice"}],
        "time_triggers": [{"cron": "0 0 12 1/1 * ? *", "timezone": "US/Pacific", "type": "cron"}],
        "params": {"p": {"value": 1, "type": "long", "mode": "constant", "validator": "p > 0"}},
        "steps": [
            {
                "step": {
                    "id": "a",
                    "type": "noop",
                    "failure_mode": "ignore_failure",
                    "transition": {"successors": {"each": "p > 0"}},
                    "retry_policy": {"error_retry_limit": "${p}"},
                    "timeout": "10 minutes",
                }
            },
            {
                "foreach": {
                    "id": "each",
                    "strict_ordering": True,
                    "transition": {"predecessors": ["a"]},
                    "params": {
                        "loop_params": {"value": {"i": {"value": [1], "type": "LONG_ARRAY"}}, "type": "MAP"}
                    },
                    "steps": [{"step": {"id": "b", "type": "Sleep", "transition": None}}],
                }
            },
        ],
    },
}


def test_json_of_maestro_is_read_and_written() -> None:
    definition = load_json(json.dumps(REQUEST)).definition
    made = definition.to_json()
    assert made["properties"]["owner"] == {"name": "alice", "team": "data"}
    assert made["properties"]["run_strategy"] == {"rule": "PARALLEL", "workflow_concurrency": 3}
    assert made["additional"] == {"note": 1}
    assert made["workflow"]["tags"] == ["t", {"name": "u", "namespace": "PLATFORM", "creator": "alice"}]
    assert made["workflow"]["steps"][0]["step"]["type"] == "NoOp"
    assert made["workflow"]["params"]["p"]["validator"] == "p > 0"
    assert load_json(json.dumps(made)).definition == definition
    assert WorkflowDefinition.model_validate(made) == definition


def test_json_and_yaml_come_to_the_same_model() -> None:
    text = {
        "properties": {"owner": "alice", "run_strategy": "sequential", "step_concurrency": 20},
        "workflow": {
            "id": "flow",
            "params": {"p": {"value": "x", "type": "STRING"}},
            "steps": [
                {"step": {"id": "a", "type": "NoOp", "transition": {"successors": {"b": "true"}}}},
                {"step": {"id": "b", "type": "NoOp"}},
            ],
        },
    }
    yaml = (
        "Workflow:\n  id: flow\n  owner: alice\n  p: x\n"
        "  jobs: [{job: {id: a, type: NoOp}}, {job: {id: b, type: NoOp}}]\n  dag: sequential\n"
    )
    assert load_json(json.dumps(text)).definition == define(yaml)
    assert load_yaml(json.dumps(text)).definition == define(yaml)


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("workflow", "steps", 1, "foreach", "transition", "predecessors"), ["b"], "PREDECESSORS_WRONG"),
        (("workflow", "steps", 0, "step", "transition"), {"successors": {"x": "true"}}, "JOB_UNKNOWN"),
        (("workflow", "steps", 0, "step", "colour"), "red", "KEY_UNKNOWN"),
        (("workflow", "steps", 0), {"template": {"id": "t"}}, "JOB_KIND_UNKNOWN"),
        (("workflow", "steps", 0), {"step": {}, "foreach": {}}, "JOB_KIND_UNKNOWN"),
        (("workflow", "time_triggers", 0, "type"), "moon", "VALUE_UNKNOWN"),
        (("workflow", "params", "p", "type"), "LONGG", "PARAM_INVALID"),
        (("workflow", "params", "p"), {"type": "LONG"}, "PARAM_INVALID"),
        (("workflow", "params", "p", "value"), "x", "PARAM_TYPE"),
        (("workflow", "instance_step_concurrency"), 1000, "OUT_OF_BOUNDS"),
        (("workflow", "id"), 5, "TYPE_MISMATCH"),
        (("properties", "owner"), {}, "KEY_MISSING"),
        (("properties", "colour"), 1, "KEY_UNKNOWN"),
        (("workflow",), None, "TYPE_MISMATCH"),
    ],
)
def test_json_is_checked_as_yaml_is(path: tuple[str | int, ...], value: Any, code: str) -> None:
    request = json.loads(json.dumps(REQUEST))
    target = request
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value
    problems = refused(json.dumps(request, indent=1), as_json=True)
    found = next(problem for problem in problems if problem.code == code)
    assert found.at.line > 0


def test_what_yaml_cannot_say_is_refused_and_not_lost() -> None:
    with pytest.raises(UsageError) as caught:
        to_yaml(load_json(json.dumps(REQUEST)).definition)
    assert caught.value.code == "YAML_INEXPRESSIBLE"


def test_a_definition_made_of_parts_is_checked_as_a_whole() -> None:
    definition = define(FLOW)
    assert check_definition(definition).definition == definition
