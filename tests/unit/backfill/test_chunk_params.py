"""Workflows without a capture step are told their range by params."""

from __future__ import annotations

from typing import Any

import pytest

from calve.backfill.planning.chunk_params import fill_params, range_params
from calve.errors import UsageError
from calve.workflow.definition import WorkflowDefinition


def definition(**params: Any) -> WorkflowDefinition:
    step = {"step": {"id": "a", "type": "NoOp"}}
    return WorkflowDefinition.model_validate({"workflow": {"id": "w", "params": params, "steps": [step]}})


TEXT = {"type": "STRING", "value": "x"}
NUMBER = {"type": "LONG", "value": 1}


def values(workflow: WorkflowDefinition, templates: dict[str, str], *bounds: Any) -> dict[str, Any]:
    return {name: param.value for name, param in fill_params(workflow, templates, *bounds).items()}


def test_run_date_is_what_is_meant_unless_something_else_is_said() -> None:
    workflow = definition(RUN_DATE=TEXT, other=TEXT)
    assert range_params(workflow, {"other": "1"}) == {"other": "1", "RUN_DATE": "{from}"}
    assert range_params(workflow, {"other": "{to}"}) == {"other": "{to}"}


def test_without_a_place_for_the_range_the_params_there_are_are_named() -> None:
    with pytest.raises(UsageError) as caught:
        range_params(definition(region=TEXT), {})
    assert caught.value.code == "RANGE_PARAMS_MISSING"
    assert "region" in caught.value.message


def test_bounds_take_the_type_that_the_workflow_declares() -> None:
    workflow = definition(a=TEXT, b=NUMBER)
    bounds = ("2024-01-31", "2024-02-01", "date")
    assert values(workflow, {"a": "{from}..{to}", "b": "{to}", "c": "{from}"}, *bounds) == {
        "a": "2024-01-31..2024-02-01",
        "b": 20240201,
        "c": "2024-01-31",
    }


def test_hours_and_day_numbers_become_numbers_too() -> None:
    workflow = definition(b=NUMBER)
    moment = ("2024-01-31T05:00:00.000000", "2024-01-31T06:00:00.000000", "timestamp")
    assert values(workflow, {"b": "{from}"}, *moment) == {"b": 2024013105}
    assert values(workflow, {"b": "{from}"}, 20240131, 20240201, "day_number") == {"b": 20240131}


def test_a_text_for_a_number_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        fill_params(definition(b=NUMBER), {"b": "day {from}"}, "2024-01-31", "2024-02-01", "date")
    assert caught.value.code == "PARAM_INVALID"
