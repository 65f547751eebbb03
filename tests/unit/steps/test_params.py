"""Params on their way from a definition into a step type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calve.steps import registry
from calve.steps.contract import Ending, StepType
from calve.steps.registry import RegisteredTypes
from calve.workflow.definition import InvalidDefinitionError, TypedStep, load_yaml
from calve.workflow.params import StepStages, step_params
from support.http_server import Server
from support.steps import make_context, run_to_end


def params_of(job: dict[str, Any]) -> tuple[StepType, dict[str, Any]]:
    """The params of a job after the merge with those of its type; only literals are used here."""
    text = json.dumps({"Workflow": {"id": "w", "jobs": [{"job": {"id": "a", **job}}]}})
    step = load_yaml(text, types=RegisteredTypes()).definition.workflow.steps[0]
    assert isinstance(step, TypedStep)
    type_ = registry.find(step.type)
    assert type_ is not None
    merged = step_params(StepStages(definition=step.params, type_defaults=type_.schema))
    return type_, {name: plain(param) for name, param in merged.items() if param.is_literal}


def plain(param: Any) -> Any:
    return {name: plain(member) for name, member in param.members.items()} if param.members else param.value


@pytest.mark.parametrize(
    "job",
    [
        {"type": "noop"},
        {"type": "sleep", "sleep_seconds": 0},
        {"type": "shell", "script": "true", "env": {}},
        {
            "type": "shell",
            "script": 'test "$A" = 1 -a "$B" = true -a "$C" = x',
            "env": {"A": 1, "B": True, "C": "x"},
        },
        {"type": "shell", "script": 'test "$C" = x', "env": {"C": "x"}},
        {"type": "python", "code": "import sys; assert sys.argv[1:] == ['1', '2']", "args": [1, 2]},
        {"type": "python", "code": "import os; assert os.environ['A'] == '1'", "env": {"A": 1}},
        {"type": "http", "http": {"url": "URL"}},
        {"type": "http", "http": {"url": "URL", "method": "POST", "headers": {"a": "b"}, "body": {"x": 1}}},
    ],
    ids=json.dumps,
)
def test_a_job_as_a_definition_writes_it_runs(job: dict[str, Any], tmp_path: Path, server: Server) -> None:
    text = json.dumps(job).replace("URL", server.url)
    type_, params = params_of(json.loads(text))
    end = run_to_end(type_, make_context(tmp_path, params))
    assert (end.ending, end.error) == (Ending.DONE, None)


@pytest.mark.parametrize(("type_", "name"), [("Shell", "script"), ("Http", "http")])
def test_a_param_that_its_type_needs_is_asked_for_at_push(type_: str, name: str) -> None:
    with pytest.raises(InvalidDefinitionError, match=f"needs the param '{name}'"):
        params_of({"type": type_})
