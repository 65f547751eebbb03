"""Output params: what a job gives back to the params of its step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calve.errors import UsageError
from calve.workflow.params.evaluated import EvaluatedParam
from calve.workflow.params.kinds import ParamSource, ParamType
from calve.workflow.params.merge import MergeContext, merge_params
from calve.workflow.params.values import coerce, show

_CONTEXT = MergeContext(ParamSource.OUTPUT_PARAMETER)


def outputs_from_json(document: object) -> dict[str, EvaluatedParam]:
    """The params of an output, `{name: {value, type, evaluated_result?, evaluated_time?}}`."""
    if not isinstance(document, Mapping):
        raise UsageError(
            "PARAM_INVALID",
            f"the output params are {show(document)}, not an object",
            'Print {"params": {…}}.',
        )
    return {str(name): EvaluatedParam.from_json(str(name), item) for name, item in document.items()}


def merge_outputs(
    params: Mapping[str, EvaluatedParam], outputs: Mapping[str, EvaluatedParam]
) -> dict[str, EvaluatedParam]:
    """The params of a step after its job: an output must be declared and MUTABLE; maps merge by key."""
    merged = dict(params)
    for name, output in outputs.items():
        before = merged.get(name)
        if before is None:
            raise UsageError(
                "PARAM_OUTPUT",
                f"the job gives an output param '{name}', and the step has no such param",
                f"Declare '{name}' in the step, with a value to begin with.",
            )
        merged[name] = _merge_one(before, output)
    return merged


def _merge_one(before: EvaluatedParam, output: EvaluatedParam) -> EvaluatedParam:
    name = before.name
    change = replace(output.to_definition(), name=name, source=None)
    definition = merge_params({name: before.to_definition()}, {name: change}, _CONTEXT)[name]
    return EvaluatedParam(definition, _value(before, output, definition.type), output.evaluated_ms)


def _value(before: EvaluatedParam, output: EvaluatedParam, type_: ParamType) -> Any:
    if type_ in (ParamType.MAP, ParamType.STRING_MAP):
        return _merged_maps(before.value, output.value)
    return coerce(before.name, type_, output.value)


def _merged_maps(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(before)
    for key, item in after.items():
        known = merged.get(key)
        nested = isinstance(known, Mapping) and isinstance(item, Mapping)
        merged[key] = _merged_maps(known, item) if nested else item  # type: ignore[arg-type]
    return merged
