"""A definition as a document of the YAML language, in plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calve.workflow.definition.dsl import words
from calve.workflow.definition.model import Workflow, WorkflowDefinition
from calve.workflow.definition.params import LOOP_PARAMS, SUBWORKFLOW_ID, SUBWORKFLOW_VERSION
from calve.workflow.definition.properties import STEP_CONCURRENCY_DEFAULT
from calve.workflow.definition.run_strategy import PARALLEL_DEFAULT, Rule, RunStrategy
from calve.workflow.definition.steps import (
    ForeachStep,
    LoopStep,
    StepBase,
    SubworkflowStep,
    TypedStep,
    WhileStep,
)
from calve.workflow.definition.writing.edges import write_dag
from calve.workflow.definition.writing.params import write_params
from calve.workflow.definition.writing.signals import write_dependencies, write_outputs, write_triggers
from calve.workflow.params.model import ParamDefinition, ParamType

_OWN_WORDS = ("owner", "run_strategy", "step_concurrency")


def write_document(definition: WorkflowDefinition) -> dict[str, Any]:
    """The document that reads back as this definition."""
    properties = {
        key: value for key, value in definition.properties.to_json().items() if key not in _OWN_WORDS
    }
    owner = definition.properties.to_json().get("owner")
    return _stated(
        {
            "Description": definition.workflow.description,
            "Trigger": write_triggers(definition.workflow),
            "Properties": properties,
            "is_active": None if definition.is_active else False,
            "git_info": None if definition.git_info is None else definition.git_info.to_json(),
            "metadata": definition.extra,
            "Workflow": _workflow(definition.workflow, definition, owner),
        }
    )


def _workflow(workflow: Workflow, definition: WorkflowDefinition, owner: Any) -> dict[str, Any]:
    made = workflow.to_json()
    step_concurrency = definition.properties.step_concurrency
    return _stated(
        {
            "id": workflow.id,
            "name": workflow.name,
            "owner": owner,
            **_strategy(definition.properties.run_strategy),
            "step_concurrency": None if step_concurrency == STEP_CONCURRENCY_DEFAULT else step_concurrency,
            **{key: made.get(key) for key in ("tags", "timeout", "criticality", "instance_step_concurrency")},
        }
    ) | {
        **write_params(workflow.params, words.WORKFLOW | {"steps"}),
        "jobs": [_job(step) for step in workflow.steps],
        **_dag(workflow.steps),
    }


def _strategy(strategy: RunStrategy | None) -> dict[str, Any]:
    if strategy is None or strategy.rule is Rule.SEQUENTIAL:
        return {}
    default = PARALLEL_DEFAULT if strategy.rule is Rule.PARALLEL else 1
    concurrency = None if strategy.workflow_concurrency == default else strategy.workflow_concurrency
    return {"run_strategy": strategy.rule.lower(), "workflow_concurrency": concurrency}


def _dag(steps: Sequence[StepBase]) -> dict[str, Any]:
    return _stated({"dag": write_dag(steps)})


def _job(step: StepBase) -> dict[str, Any]:
    kind = next(written for written, kind in words.KINDS.items() if kind == step.kind)
    head = _stated({"id": step.id, "name": step.name, "description": step.description})
    match step:
        case TypedStep():
            head |= _typed(step)
        case SubworkflowStep():
            head |= _subworkflow(step)
        case LoopStep():
            head |= _loop_head(step)
    made = step.to_json()
    head |= _stated({key: made.get(key) for key in ("failure_mode", "tags", "timeout")})
    if "failure_mode" in head:
        head["failure_mode"] = head["failure_mode"].lower()
    head |= _stated(
        {
            "signal_dependencies": write_dependencies(step.signal_dependencies),
            "signal_outputs": write_outputs(step.signal_outputs),
        }
    )
    params = {name: param for name, param in step.params.items() if not _has_word(step, param)}
    head |= write_params(params, words.JOBS[kind])
    if isinstance(step, LoopStep):
        head |= {"jobs": [_job(inner) for inner in step.steps], **_dag(step.steps)}
    return {kind: head}


def _typed(step: TypedStep) -> dict[str, Any]:
    policy = step.retry_policy
    return {"type": step.type} | _stated(
        {
            "sub_type": step.sub_type,
            "type_version": step.sub_type_version,
            "retry_policy": None if policy is None else policy.to_json() or {"backoff": None},
        }
    )


def _subworkflow(step: SubworkflowStep) -> dict[str, Any]:
    made: dict[str, Any] = {}
    target, version = step.params.get(SUBWORKFLOW_ID), step.params.get(SUBWORKFLOW_VERSION)
    if target is not None and _is_plain_text(target) and target.value != step.id:
        made["workflow_id"] = target.value
    if version is not None and _is_plain_text(version):
        made["version"] = version.value
    return made | _stated({"sync": step.sync, "explicit_params": step.explicit_params})


def _loop_head(step: LoopStep) -> dict[str, Any]:
    made: dict[str, Any] = {"condition": step.condition} if isinstance(step, WhileStep) else {}
    if isinstance(step, ForeachStep):
        made |= _stated({"concurrency": step.concurrency, "strict_ordering": step.strict_ordering})
    return made | ({"params": write_params(step.loop_params)} if step.loop_params else {})


def _has_word(step: StepBase, param: ParamDefinition) -> bool:
    """True if a word of the job says the param."""
    if isinstance(step, LoopStep):
        return param.name == LOOP_PARAMS
    names = (SUBWORKFLOW_ID, SUBWORKFLOW_VERSION) if isinstance(step, SubworkflowStep) else ()
    return param.name in names and _is_plain_text(param)


def _is_plain_text(param: ParamDefinition) -> bool:
    return param.type is ParamType.STRING and param.is_literal and param.mode is None


def _stated(entries: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entries.items() if value is not None and value not in ({}, [])}
