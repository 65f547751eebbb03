"""The workflows that a backfill is carried out by: its driver, its chunks, its own Spark jobs."""

from __future__ import annotations

from typing import Any

from calve.backfill.records import Backfill
from calve.workflow.definition import WorkflowDefinition
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.run_strategy import Rule, RunStrategy
from calve.workflow.definition.steps import LoopStep

#: The step of `jobs_definition`, its param that says what to do, and the one that it answers with.
JOB_STEP = "job"
JOB_PARAM = "job"
RESULT = "result"
_TRIGGERS = ("time_triggers", "signal_triggers", "incremental_triggers")


def chunk_definition(
    definition: WorkflowDefinition, workflow_id: str, concurrency: int
) -> WorkflowDefinition:
    """A copy of a workflow for the chunks of a stage: the same steps, that nothing starts or waits for.

    A chunk neither waits for signals, which are about new data, nor sends any before it is published.
    """
    silent = dict.fromkeys(_TRIGGERS, ())
    steps = tuple(_silent(step) for step in definition.workflow.steps)
    workflow = definition.workflow.model_copy(update={"id": workflow_id, "steps": steps, **silent})
    properties = definition.properties.model_copy(update={"run_strategy": at_once(concurrency), "tags": ()})
    return definition.model_copy(update={"workflow": workflow, "properties": properties, "is_active": True})


def at_once(concurrency: int) -> RunStrategy:
    """So many chunks at a time."""
    return RunStrategy(rule=Rule.PARALLEL, workflow_concurrency=concurrency)


def driver_definition(backfill: Backfill) -> WorkflowDefinition:
    """One step for each stage, in the order of the lineage."""
    stages = backfill.plan.stages
    steps = []
    for ordinal, stage in enumerate(stages):
        following = [at for at, other in enumerate(stages) if ordinal in other.after]
        params = {"backfill_id": _param("LONG", backfill.id), "stage": _param("LONG", ordinal)}
        step = {
            "id": stage_step(ordinal),
            "name": stage.workflow_id,
            "type": "BackfillStage",
            "params": params,
            "transition": {"successors": {stage_step(at): "true" for at in following}},
        }
        steps.append({"step": step})
    described = backfill.reason or f"backfill of {backfill.plan.workflow_id}"
    return _definition(backfill, backfill.driver, described, steps, backfill.concurrency)


def jobs_definition(backfill: Backfill) -> WorkflowDefinition:
    """One Spark step, which does what its param says."""
    params = {
        "main": _param("STRING", "calve.backfill.spark.jobs:run"),
        JOB_PARAM: {"type": "STRING", "expression": JOB_PARAM},
        RESULT: _param("STRING", ""),
    }
    step = {"step": {"id": JOB_STEP, "type": "Spark", "params": params}}
    described = f"Spark jobs of backfill {backfill.id}"
    made = _definition(backfill, backfill.jobs_workflow, described, [step], backfill.concurrency)
    with_param = {"params": {JOB_PARAM: _param("STRING", "{}")}}
    return WorkflowDefinition.model_validate(
        {**made.to_json(), "workflow": {**made.to_json()["workflow"], **with_param}}
    )


def stage_step(ordinal: int) -> str:
    """The id of a stage's step in the driver."""
    return f"stage_{ordinal}"


def _definition(
    backfill: Backfill, workflow_id: str, description: str, steps: list[Any], concurrency: int
) -> WorkflowDefinition:
    properties = Properties(owner=backfill.author, run_strategy=at_once(concurrency))  # type: ignore[arg-type]
    return WorkflowDefinition.model_validate(
        {
            "properties": properties.to_json(),
            "workflow": {"id": workflow_id, "description": description, "steps": steps},
        }
    )


def _param(type_: str, value: Any) -> dict[str, Any]:
    return {"type": type_, "value": value}


def _silent(step: Any) -> Any:
    changes: dict[str, Any] = {"signal_dependencies": (), "signal_outputs": ()}
    if isinstance(step, LoopStep):
        changes["steps"] = tuple(_silent(inner) for inner in step.steps)
    return step.model_copy(update=changes)
