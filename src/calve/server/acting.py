"""Actions by their name, answered in Maestro's form. The command line uses it without a server, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.engine.core.liveness import any_engine_alive
from calve.engine.model.commands import Command
from calve.engine.model.requests import Params, Started
from calve.engine.orchestrator import Orchestrator
from calve.engine.views.lookup import find_run
from calve.engine.views.steps import step_attempt
from calve.errors import NotFoundError, UsageError
from calve.server.answers import action_event

Json = dict[str, Any]
STEP_ACTIONS: Mapping[str, Command] = {
    "stop": Command.STEP_STOP,
    "kill": Command.STEP_KILL,
    "skip": Command.STEP_SKIP,
    "bypass": Command.STEP_BYPASS,
    "resume": Command.STEP_RESUME,
}


def act_on_workflow(orchestrator: Orchestrator, caller: str, workflow_id: str, action: str) -> Json:
    """Stop, kill, unblock, pause or resume a workflow; a timeline event tells what was done."""
    count: int | None = None
    match action:
        case "stop" | "kill":
            count = orchestrator.end_workflow(workflow_id, caller, kill=action == "kill")
        case "unblock":
            count = orchestrator.unblock(workflow_id)
        case "pause":
            orchestrator.pause(workflow_id, caller)
        case "resume":
            orchestrator.resume(workflow_id, caller)
        case _:
            raise _unknown(action)
    event = action_event(action.upper(), caller, f"{action} the workflow '{workflow_id}'")
    return event if count is None else {**event, "info": count}


def act_on_instance(
    orchestrator: Orchestrator,
    caller: str,
    workflow_id: str,
    instance_id: int,
    action: str,
    run_id: int | None = None,
    blocking: bool = True,
) -> Json:
    """Stop, kill, unblock, pause or resume an instance; its status once the engine has heard of it."""
    command: int | None = None
    match action:
        case "stop" | "kill":
            kill = action == "kill"
            command = orchestrator.end_instance(workflow_id, instance_id, caller, kill, run_id)
        case "unblock":
            orchestrator.unblock(workflow_id, instance_id)
        case "pause" | "resume":
            command = orchestrator.pause_instance(workflow_id, instance_id, caller, action == "pause")
        case _:
            raise _unknown(action)
    if command is not None and blocking:
        _wait(orchestrator, command)
    with orchestrator.database.read() as connection:
        row = find_run(connection, workflow_id, instance_id, "latest")
    return {
        "workflow_id": workflow_id,
        "workflow_instance_id": instance_id,
        "workflow_run_id": row.run_id,
        "workflow_instance_status": row.status,
        "timeline_event": action_event(action.upper(), caller, f"{action} instance {instance_id}"),
    }


def act_on_step(
    orchestrator: Orchestrator,
    caller: str,
    workflow_id: str,
    instance_id: int,
    step_id: str,
    action: str,
    blocking: bool = True,
) -> Json:
    """Stop, kill, skip, bypass or resume a step; where it stands once the engine has heard of it."""
    if action not in STEP_ACTIONS:
        raise _unknown(action)
    done = orchestrator.act_on_step(STEP_ACTIONS[action], workflow_id, instance_id, step_id, caller)
    if isinstance(done, int) and blocking:
        _wait(orchestrator, done)
    answer = step_answer(orchestrator, workflow_id, instance_id, step_id)
    event = action_event(action.upper(), caller, f"{action} step '{step_id}' of instance {instance_id}")
    return {**answer, "timeline_event": event}


def restart_step(
    orchestrator: Orchestrator,
    caller: str,
    workflow_id: str,
    instance_id: int,
    step_id: str,
    params: Params,
    blocking: bool = True,
) -> Json:
    """A further attempt of a step in a run that goes on, or a further run from the step."""
    done = orchestrator.act_on_step(
        Command.STEP_RESTART, workflow_id, instance_id, step_id, caller, params or None
    )
    if isinstance(done, int) and blocking:
        _wait(orchestrator, done)
    answer = step_answer(orchestrator, workflow_id, instance_id, step_id)
    event = action_event("RESTART", caller, f"restart step '{step_id}' of instance {instance_id}")
    outcome = done.status.value if isinstance(done, Started) else "DELEGATED"
    return {**answer, "status": outcome, "timeline_event": event}


def step_answer(orchestrator: Orchestrator, workflow_id: str, instance_id: int, step_id: str) -> Json:
    """Where a step of the newest run stands."""
    with orchestrator.database.read() as connection:
        run = find_run(connection, workflow_id, instance_id, "latest")
        answer: Json = {
            "workflow_id": workflow_id,
            "workflow_version_id": run.version,
            "workflow_instance_id": instance_id,
            "workflow_run_id": run.run_id,
            "step_id": step_id,
        }
        try:
            found = step_attempt(connection, workflow_id, instance_id, run.run_id, step_id)
        except NotFoundError:
            # In a new run the step may not have begun yet.
            return answer
    return {
        **answer,
        "step_attempt_id": found["step_attempt_id"],
        "step_runtime_state": found["runtime_state"],
    }


def start_answer(started: Started, version: int, caller: str) -> Json:
    """An instance that was started, or started again."""
    return {
        "workflow_id": started.workflow_id,
        "workflow_version_id": version,
        "workflow_instance_id": started.instance_id,
        "workflow_run_id": started.run_id,
        "workflow_uuid": started.uuid,
        "status": started.status.value,
        "timeline_event": action_event("START", caller, f"instance {started.instance_id}"),
    }


def _wait(orchestrator: Orchestrator, command: int) -> None:
    if any_engine_alive(orchestrator.database):
        orchestrator.wait_for_command(command)


def _unknown(action: str) -> UsageError:
    return UsageError("ACTION_UNKNOWN", f"found the action '{action}'", "see /docs for those there are")
