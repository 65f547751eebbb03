"""Params as people read them: the value, its type, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from calve.engine.views.documents import Json
from calve.workflow.params import ParamSource

#: A longer value is folded away behind its beginning.
SHORT = 120
#: More than this of one value is of no use on a page; the API has all of it.
_LONGEST = 100_000

_SOURCES = {
    ParamSource.SYSTEM: "the system",
    ParamSource.SYSTEM_DEFAULT: "default of the system",
    ParamSource.SYSTEM_INJECTED: "the system",
    ParamSource.TEMPLATE_SCHEMA: "default of the step type",
    ParamSource.DEFINITION: "definition",
    ParamSource.SIGNAL: "signal trigger",
    ParamSource.TIME_TRIGGER: "schedule",
    ParamSource.OUTPUT_PARAMETER: "output of the step",
    ParamSource.LAUNCH: "given at the start",
    ParamSource.RESTART: "given at the restart",
    ParamSource.SUBWORKFLOW: "step that started it",
    ParamSource.TEMPLATE: "job template",
    ParamSource.FOREACH: "foreach loop",
    ParamSource.WHILE: "while loop",
    ParamSource.WORKFLOW_PARAMETER: "param of the workflow",
}


def describe_params(stored: Mapping[str, Any]) -> list[Json]:
    """Every param with its value as a text; those of the system come last."""
    described = [_describe(name, param) for name, param in stored.items() if isinstance(param, Mapping)]
    return sorted(described, key=lambda param: param["is_system"])


def _describe(name: str, param: Mapping[str, Any]) -> Json:
    source = ParamSource.__members__.get(str(param.get("source") or "").upper())
    value = param.get("evaluated_result", param.get("value"))
    return {
        "name": name,
        "type": param.get("type"),
        "mode": param.get("mode"),
        "source": None if source is None else source.value,
        "source_words": "definition" if source is None else _SOURCES[source],
        "is_system": source is not None and source.is_system,
        "is_output": source is ParamSource.OUTPUT_PARAMETER,
        "expression": param.get("expression"),
        "value": value,
        "text": show_value(value),
    }


def show_value(value: Any) -> str:
    """A value as a text: plain ones as they are, others as JSON."""
    if isinstance(value, str):
        text = value
    else:
        long = isinstance(value, dict | list) and len(str(value)) > SHORT
        text = json.dumps(value, ensure_ascii=False, indent=2 if long else None)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "\n… (the API has the rest)"
