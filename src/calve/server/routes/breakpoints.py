"""Breakpoints: steps that are held before they run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from calve.engine.catalog.breakpoints import Place
from calve.engine.views.lookup import find_run
from calve.engine.views.steps import paused_attempts
from calve.errors import RefusedError
from calve.server import acting
from calve.server.answers import action_event
from calve.server.bodies import BreakpointBody, Counted
from calve.server.dependencies import Caller, Json, Number, Orchestrating

router = APIRouter(prefix="/workflows/steps/breakpoints", tags=["breakpoints"])

WorkflowId = Annotated[str, Query(alias="workflowId")]
StepId = Annotated[str, Query(alias="stepId")]


@router.post("")
def add_breakpoint(orchestrator: Orchestrating, caller: Caller, body: BreakpointBody) -> Json:
    """Hold a step before it runs, in all runs or in those that are named."""
    place = Place(
        workflow_id=body.workflow_id,
        step_id=body.step_id,
        version=body.workflow_version,
        instance_id=body.workflow_instance_id,
        run_id=body.workflow_run,
        attempt_id=body.step_attempt_id,
    )
    return orchestrator.add_breakpoint(place, caller).to_json()


@router.get("")
def list_breakpoints(
    orchestrator: Orchestrating,
    workflow_id: WorkflowId,
    step_id: Annotated[str | None, Query(alias="stepId")] = None,
) -> list[Json]:
    """The breakpoints of a workflow, or of one of its steps."""
    return [one.to_json() for one in orchestrator.list_breakpoints(workflow_id, step_id)]


@router.delete("")
def delete_breakpoint(
    orchestrator: Orchestrating,
    caller: Caller,
    workflow_id: WorkflowId,
    step_id: StepId,
    version: Annotated[Counted | None, Query(alias="workflowVersion")] = None,
    instance_id: Annotated[Counted | None, Query(alias="workflowInstanceId")] = None,
    run_id: Annotated[Counted | None, Query(alias="workflowRun")] = None,
    attempt_id: Annotated[Counted | None, Query(alias="stepAttemptId")] = None,
    resume: Annotated[bool, Query(description="Let go what it holds.")] = True,
) -> Json:
    """Take a breakpoint away and, with `resume`, let go what it holds."""
    place = Place(
        workflow_id=workflow_id,
        step_id=step_id,
        version=version,
        instance_id=instance_id,
        run_id=run_id,
        attempt_id=attempt_id,
    )
    count = orchestrator.delete_breakpoint(place, caller, resume)
    message = f"deleted the breakpoint on step '{step_id}'; {count} attempts go on"
    return {
        "workflow_id": workflow_id,
        "step_id": step_id,
        "timeline_event": action_event("RESUME", caller, message),
    }


@router.get("/paused-step-attempts")
def paused_step_attempts(orchestrator: Orchestrating, workflow_id: WorkflowId, step_id: StepId) -> list[Json]:
    """The attempts of a step that are held."""
    with orchestrator.database.read() as connection:
        return paused_attempts(connection, workflow_id, step_id)


@router.put(
    "/{workflow_id}/instances/{instance_id}/runs/{run_id}/steps/{step_id}/attempts/{attempt_id}/actions/resume"
)
def resume_attempt(
    orchestrator: Orchestrating,
    caller: Caller,
    workflow_id: str,
    instance_id: Number,
    run_id: str,
    step_id: str,
    attempt_id: Number,
) -> Json:
    """Let one attempt go on; the breakpoint stays."""
    with orchestrator.database.read() as connection:
        run = find_run(connection, workflow_id, instance_id, run_id)
    held = acting.step_answer(orchestrator, workflow_id, instance_id, step_id)
    if held["workflow_run_id"] != run.run_id or held.get("step_attempt_id") != attempt_id:
        raise RefusedError(
            "ATTEMPT_NOT_LATEST",
            f"attempt {attempt_id} of step '{step_id}' in run {run.run_id} is not the newest",
            "name the newest attempt of the newest run",
        )
    return acting.act_on_step(orchestrator, caller, workflow_id, instance_id, step_id, "resume")
