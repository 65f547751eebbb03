"""The params of a step: merged from their stages, evaluated in the scope of the step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from calve.engine.core.batch import Batch
from calve.engine.core.resolver import StepResolver, instance_fields
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.workflow.definition.durations import timeout_ms
from calve.workflow.definition.retry import DEFAULT_RULES, RetryPolicy, RetryRules
from calve.workflow.definition.steps import ForeachStep, SubworkflowStep, TypedStep, WhileStep
from calve.workflow.params import (
    EvaluatedParam,
    Evaluation,
    ParamDefinition,
    ParamLimits,
    ParamMode,
    ParamSource,
    Scope,
    StepStages,
    evaluate_condition,
    params_from_json,
    step_params,
)
from calve.workflow.params.defaults import (
    FOREACH_DEFAULTS,
    STEP_DEFAULTS,
    SUBWORKFLOW_DEFAULTS,
    WHILE_DEFAULTS,
)
from calve.workflow.params.evaluation import check_size, to_text
from calve.workflow.sel import Limits

#: Params are evaluated in the engine's own transaction: an expression gets seconds, not minutes.
PARAM_LIMITS = ParamLimits(sel=Limits(seconds=2.0))
DEFAULT_TIMEOUT_MS = 10 * 86_400_000

#: Nobody may set these, so they need not be merged with anything.
_IDENTITY = {
    name: replace(default, mode=ParamMode.CONSTANT, internal_mode=None, source=ParamSource.SYSTEM_DEFAULT)
    for name, default in STEP_DEFAULTS.items()
}

_KIND_DEFAULTS: Mapping[type, Mapping[str, ParamDefinition]] = {
    ForeachStep: FOREACH_DEFAULTS,
    WhileStep: WHILE_DEFAULTS,
    SubworkflowStep: SUBWORKFLOW_DEFAULTS,
}


@dataclass(frozen=True, slots=True)
class TypeParams:
    """The params that come with the type of a step and with the job template it is made from."""

    schema: Mapping[str, ParamDefinition]
    template: Mapping[str, ParamDefinition]


def evaluation_of(
    batch: Batch, run: RunState, step: StepState, definitions: Mapping[str, ParamDefinition]
) -> Evaluation:
    """The scope of a step, with params to evaluate."""
    fields = run_fields(run)
    resolver = StepResolver(batch, run, step, fields)
    return Evaluation(definitions, Scope(step.id, run.values), resolver, PARAM_LIMITS)


def run_fields(run: RunState) -> dict[str, Any]:
    """What `params.getFromInstance` knows of a run."""
    triggers = run.definition.workflow.time_triggers
    return instance_fields(
        workflow_id=run.workflow_id,
        instance_id=run.instance_id,
        run_id=run.run_id,
        owner=run.properties.owner.name if run.properties.owner else "",
        initiator=run.initiator,
        policy=run.request.get("policy", "START_FRESH_NEW_RUN"),
        first_timezone=getattr(triggers[0], "timezone", None) if triggers else None,
    )


def merge_step_params(run: RunState, step: StepState, type_params: TypeParams) -> dict[str, ParamDefinition]:
    """The params of a step, not yet evaluated."""
    definition = step.definition
    given = run.request.get("step_params", {}).get(step.id)
    is_restart = run.run_id > 1
    stages = StepStages(
        definition=definition.params,
        type_defaults=_KIND_DEFAULTS.get(type(definition), type_params.schema),
        template=type_params.template,
        run_params={} if given is None else params_from_json(given),
        global_defaults={},
    )
    source = ParamSource.RESTART if is_restart else ParamSource.LAUNCH
    return step_params(stages, source, restart=is_restart)


def _identity(run: RunState, step: StepState, now_ms: int) -> dict[str, EvaluatedParam]:
    """The params that every step has; what they come to is known, so nothing is left to evaluate."""
    known = {
        "workflow_instance_id": run.instance_id,
        "step_instance_uuid": step.uuid,
        "step_attempt_id": step.attempt_id,
        "step_id": step.id,
    }
    return {
        name: EvaluatedParam(definition.with_value(known[name]), known[name], now_ms)
        for name, definition in _IDENTITY.items()
    }


def evaluate_step(
    batch: Batch, run: RunState, step: StepState, definitions: Mapping[str, ParamDefinition]
) -> dict[str, EvaluatedParam]:
    """All params of a step."""
    evaluation = evaluation_of(batch, run, step, definitions)
    identity = _identity(run, step, batch.now_ms)
    evaluation.done.update(identity)
    made = {**identity, **evaluation.evaluate_all(), **identity}
    check_size(to_text(made), evaluation.limits, str(evaluation.scope))
    return made


def evaluated_scope(batch: Batch, run: RunState, step: StepState) -> Evaluation:
    """The scope of a step whose params are evaluated: for its edges, its timeout, its signals."""
    evaluation = evaluation_of(
        batch, run, step, {name: param.definition for name, param in step.params.items()}
    )
    evaluation.done.update(step.params)
    return evaluation


def evaluate_edges(batch: Batch, run: RunState, step: StepState) -> dict[str, bool]:
    """The truth of each edge of a step that has a condition."""
    conditions = run.graph.conditions(step.id)
    if not conditions:
        return {}
    evaluation = evaluated_scope(batch, run, step)
    return {successor: evaluate_condition(text, evaluation) for successor, text in conditions.items()}


def timeout_of(batch: Batch, run: RunState, step: StepState) -> int:
    """How long the step may take, in milliseconds."""
    stated = step.definition.timeout
    if stated is None:
        return DEFAULT_TIMEOUT_MS
    return timeout_ms(evaluated_scope(batch, run, step).text(stated) if isinstance(stated, str) else stated)


def retry_rules(batch: Batch, run: RunState, step: StepState) -> RetryRules:
    """How often the step is tried again, and after how long."""
    definition = step.definition
    if not isinstance(definition, TypedStep):
        return replace(DEFAULT_RULES, error=replace(DEFAULT_RULES.error, limit=0))
    policy = definition.retry_policy or RetryPolicy()
    return policy.rules(evaluated_scope(batch, run, step).text)
