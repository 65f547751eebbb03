"""Params that tell a workflow without a capture step which range to process."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from calve.backfill.chunking import moment_of
from calve.errors import UsageError
from calve.workflow.definition import WorkflowDefinition
from calve.workflow.params import ParamDefinition, ParamType

FROM, TO = "{from}", "{to}"
_DEFAULT = "RUN_DATE"
_NUMBERS = (ParamType.LONG,)


def range_params(definition: WorkflowDefinition, given: Mapping[str, str]) -> dict[str, str]:
    """The params of a chunk, with `{from}` and `{to}` where its bounds go. Raises RANGE_PARAMS_MISSING."""
    if any(FROM in text or TO in text for text in given.values()):
        return dict(given)
    declared = definition.workflow.params
    name = next((name for name in declared if name.upper() == _DEFAULT), None)
    if name is None:
        known = ", ".join(declared) or "none"
        raise UsageError(
            "RANGE_PARAMS_MISSING",
            f"'{definition.workflow.id}' has no capture step, and it is not known which of its params take "
            f"the range; it has {known}",
            "say so: --param 'from_date={from}' --param 'to_date={to}'",
        )
    return {**given, name: FROM}


def fill_params(
    definition: WorkflowDefinition, templates: Mapping[str, str], lower: Any, upper: Any, kind: str
) -> dict[str, ParamDefinition]:
    """The params of one chunk, each of the type that the workflow declares."""
    return {name: _fill(definition, name, text, lower, upper, kind) for name, text in templates.items()}


def _fill(
    definition: WorkflowDefinition, name: str, text: str, lower: Any, upper: Any, kind: str
) -> ParamDefinition:
    declared = definition.workflow.params.get(name)
    type_ = ParamType.STRING if declared is None else declared.type
    as_number = type_ in _NUMBERS
    for mark, bound in ((FROM, lower), (TO, upper)):
        if mark in text:
            text = text.replace(mark, _shown(bound, kind, as_number))
    if type_ is ParamType.STRING:
        return ParamDefinition(name=name, type=type_, value=text)
    try:
        value: Any = int(text) if as_number else text
    except ValueError as error:
        raise UsageError(
            "PARAM_INVALID", f"'{name}' is of type {type_.value}, found {text!r}", "give a value of its type"
        ) from error
    return ParamDefinition(name=name, type=type_, value=value)


def _shown(bound: Any, kind: str, as_number: bool) -> str:
    """A bound for a param: a day as 20240131 where the param is a number."""
    if not as_number or isinstance(bound, int):
        return str(bound)
    moment: datetime = moment_of(bound, kind)
    return moment.strftime("%Y%m%d" if moment.hour == moment.minute == 0 else "%Y%m%d%H")
