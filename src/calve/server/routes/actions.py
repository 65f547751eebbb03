"""Actions on workflows, instances and steps."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from calve.engine.model.requests import RestartPolicy, RestartRequest, StartRequest
from calve.engine.views import inline
from calve.engine.views.lookup import find_run
from calve.errors import UsageError
from calve.server import acting
from calve.server.action_maps import instance_actions, step_actions
from calve.server.answers import action_event
from calve.server.bodies import LoopBody, RestartBody, StartBody, StepRestartBody, read_params
from calve.server.dependencies import Caller, Json, Number, Orchestrating

router = APIRouter(prefix="/workflows", tags=["actions"])

_INSTANCE = "/{workflow_id}/instances/{instance_id}"
Blocking = Annotated[bool, Query(description="Wait up to 5 s until the engine has carried it out.")]
InstanceAction = Literal["stop", "kill", "unblock", "pause", "resume"]
StepAction = Literal["stop", "kill", "skip", "bypass"]


@router.get("/instances/action-map")
def instance_action_map() -> dict[str, list[str]]:
    """Which actions are allowed on an instance, by its status."""
    return instance_actions()


@router.get("/steps/instances/action-map")
def step_action_map() -> dict[str, list[str]]:
    """Which actions are allowed on a step, by its status."""
    return step_actions()


@router.get("/instances/inline-workflow-id")
def inline_workflow_id(orchestrator: Orchestrating, path: list[LoopBody]) -> str:
    """The id under which the iterations of a loop run; the body names the loops, the outermost first."""
    if not path:
        raise UsageError(
            "REQUEST_INVALID", "the path is empty", "send a list of {workflow_id, instance_id, step_id}"
        )
    with orchestrator.database.read() as connection:
        return inline.inline_workflow_id(connection, [node.model_dump() for node in path])


@router.post("/{workflow_id}/versions/{version}/actions/start")
def start(
    orchestrator: Orchestrating, caller: Caller, workflow_id: str, version: str, body: StartBody
) -> Json:
    """Start a new instance; the run strategy of the workflow decides when it runs."""
    request = StartRequest(
        workflow_id=workflow_id,
        version=version,
        params=read_params(body.run_params),
        initiator=body.initiator.model_dump(mode="json"),
        request_id=body.request_id,
        author=caller,
    )
    started = orchestrator.start(request)
    with orchestrator.database.read() as connection:
        run = find_run(connection, workflow_id, started.instance_id, started.run_id)
    return acting.start_answer(started, run.version, caller)


@router.put("/{workflow_id}/versions/{version}/actions/activate")
def activate(orchestrator: Orchestrating, caller: Caller, workflow_id: str, version: str) -> Json:
    """Make a version the one that triggers and starts use."""
    number = orchestrator.activate(workflow_id, version, caller)
    return {
        "workflow_id": workflow_id,
        "workflow_version_id": number,
        "timeline_event": action_event("ACTIVATE", caller, f"activated version {number}"),
    }


@router.put("/{workflow_id}/actions/deactivate")
def deactivate(orchestrator: Orchestrating, caller: Caller, workflow_id: str) -> Json:
    """Leave a workflow without an active version: its triggers rest."""
    number = orchestrator.deactivate(workflow_id, caller)
    return {
        "workflow_id": workflow_id,
        "workflow_version_id": number,
        "timeline_event": action_event("DEACTIVATE", caller, f"deactivated version {number}"),
    }


@router.put("/{workflow_id}/actions/{action}")
def act_on_workflow(
    orchestrator: Orchestrating, caller: Caller, response: Response, workflow_id: str, action: InstanceAction
) -> Json:
    """Stop, kill or unblock all instances of a workflow; pause or resume its queue."""
    if action in ("stop", "kill"):
        # The instances end by and by.
        response.status_code = 202
    return acting.act_on_workflow(orchestrator, caller, workflow_id, action)


@router.post(_INSTANCE + "/actions/restart")
def restart(
    orchestrator: Orchestrating, caller: Caller, workflow_id: str, instance_id: Number, body: RestartBody
) -> Json:
    """Run an instance again: the steps that did not complete, or all of them."""
    if body.restart_policy is RestartPolicy.RESTART_FROM_SPECIFIC:
        raise UsageError(
            "REQUEST_INVALID", "found RESTART_FROM_SPECIFIC for an instance", "restart the step instead"
        )
    request = RestartRequest(
        workflow_id=workflow_id,
        instance_id=instance_id,
        policy=body.restart_policy,
        params=read_params(body.run_params),
        request_id=body.request_id,
        author=caller,
    )
    started = orchestrator.restart(request)
    with orchestrator.database.read() as connection:
        run = find_run(connection, workflow_id, instance_id, started.run_id)
    return acting.start_answer(started, run.version, caller)


@router.put(_INSTANCE + "/actions/{action}")
def act_on_instance(
    orchestrator: Orchestrating,
    caller: Caller,
    workflow_id: str,
    instance_id: Number,
    action: InstanceAction,
    blocking: Blocking = True,
) -> Json:
    """Stop (→ STOPPED), kill (→ FAILED), unblock, pause or resume an instance."""
    return acting.act_on_instance(orchestrator, caller, workflow_id, instance_id, action, blocking=blocking)


@router.put(_INSTANCE + "/runs/{run_id}/actions/{action}")
def act_on_run(
    orchestrator: Orchestrating,
    caller: Caller,
    workflow_id: str,
    instance_id: Number,
    run_id: Number,
    action: Literal["stop", "kill", "unblock"],
    blocking: Blocking = True,
) -> Json:
    """The same on a run, which must be the newest of its instance."""
    return acting.act_on_instance(orchestrator, caller, workflow_id, instance_id, action, run_id, blocking)


@router.post(_INSTANCE + "/steps/{step_id}/actions/restart")
def restart_step(
    orchestrator: Orchestrating,
    caller: Caller,
    workflow_id: str,
    instance_id: Number,
    step_id: str,
    body: StepRestartBody,
    blocking: Blocking = True,
) -> Json:
    """A further attempt of a step in a run that goes on, or a further run from the step."""
    params = read_params((body.step_run_params or {}).get(step_id))
    return acting.restart_step(orchestrator, caller, workflow_id, instance_id, step_id, params, blocking)


@router.put(_INSTANCE + "/steps/{step_id}/actions/{action}")
def act_on_step(
    orchestrator: Orchestrating,
    caller: Caller,
    workflow_id: str,
    instance_id: Number,
    step_id: str,
    action: StepAction,
    blocking: Blocking = True,
) -> Json:
    """Stop, kill or skip a step, or let it go on without the signals that it waits for (bypass)."""
    return acting.act_on_step(orchestrator, caller, workflow_id, instance_id, step_id, action, blocking)
