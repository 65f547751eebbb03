"""The options of a step as far as its definition gives them, and the tables that it declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calve.backfill.lineage.known_params import KnownParams, Surroundings
from calve.backfill.lineage.stand_ins import StandIns
from calve.errors import CalveError
from calve.settings import Settings
from calve.steps import registry
from calve.steps.contract import Options, StepContext, StepType
from calve.steps.options import flat_params
from calve.workflow.definition.steps import Step, TypedStep
from calve.workflow.params import ParamDefinition, StepStages, step_params


def type_of(step: TypedStep) -> StepType | None:
    """The type of a step; None if it is not installed here, or does not load."""
    try:
        return registry.find(step.type)
    except CalveError:
        return None


def known_params(
    step: Step, stand_ins: StandIns, around: Surroundings, template: Mapping[str, ParamDefinition]
) -> dict[str, Any]:
    """The params of a step, those of its template among them, with words for what is not known."""
    type_ = type_of(step) if isinstance(step, TypedStep) else None
    schema = {} if type_ is None else type_.schema
    stages = StepStages(definition=step.params, type_defaults=schema, template=template, global_defaults={})
    try:
        merged: Mapping[str, ParamDefinition] = step_params(stages)
    except CalveError:
        # What is missing, or what a template and a definition disagree on, is told when the step runs.
        merged = step.params
    return KnownParams(merged, stand_ins, around, step.id).values()


def known_options(
    step: TypedStep, type_: StepType | None, values: Mapping[str, Any], settings: Settings
) -> dict[str, Any]:
    """The params of a step with those of its type's section among them, as the type reads them."""
    context = StepContext(
        workflow_id="",
        instance_id=0,
        run_id=0,
        step_id=step.id,
        attempt_id=0,
        attempt_uuid="",
        params=values,
        workflow_params={},
        own_params={name: value for name, value in values.items() if name in step.params},
        settings=settings,
        place=Path(),
    )
    return flat_params(Options if type_ is None else type_.options, context)


def declared(options: Mapping[str, Any], name: str) -> Sequence[str] | None:
    """The tables that a step declares under a name; None if it declares nothing, which is not none.

    Only texts and lists are names: a number is a param that happens to have the name.
    """
    found = options.get(name)
    if isinstance(found, str):
        return [part.strip() for part in found.split(",") if part.strip()]
    return [str(item) for item in found] if isinstance(found, list | tuple) else None
