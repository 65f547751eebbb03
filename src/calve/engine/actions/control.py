"""Actions on instances and steps that exist. What is illegal is refused with the reason."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, literal_column, select, update

from calve.engine.actions.asking import ask, ask_live_to_end, ask_to_end, stop_queued
from calve.engine.catalog.breakpoints import Place
from calve.engine.catalog.rows import lock_workflow
from calve.engine.model.commands import Command
from calve.engine.model.requests import Params
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.outbox import dump, wake_queue
from calve.errors import NotFoundError, RefusedError
from calve.state.orchestration import runs, steps
from calve.workflow.params import params_to_json


def latest_run(connection: Connection, workflow_id: str, instance_id: int, run_id: int | None = None) -> Any:
    """The newest run of an instance; refused if another one is named."""
    row = connection.execute(
        select(runs)
        .where(runs.c.workflow_id == workflow_id, runs.c.instance_id == instance_id)
        .order_by(runs.c.run_id.desc())
        .limit(1)
    ).first()
    if row is None:
        raise NotFoundError(
            "INSTANCE_NOT_FOUND",
            f"there is no instance {instance_id} of '{workflow_id}'",
            f"see `calve runs {workflow_id}`",
        )
    if run_id is not None and run_id != row.run_id:
        if run_id > row.run_id:
            raise NotFoundError(
                "RUN_NOT_FOUND",
                f"instance {instance_id} of '{workflow_id}' has no run {run_id}",
                f"its newest is {row.run_id}",
            )
        raise RefusedError(
            "RUN_NOT_LATEST",
            f"run {run_id} of instance {instance_id} is over; its newest run is {row.run_id}",
            "act on the newest run",
        )
    return row


def end_instance(connection: Connection, row: Any, kill: bool, author: str, now_ms: int) -> int | None:
    """Stop (→ STOPPED) or kill (→ FAILED) an instance; the command to wait for, None if it is done."""
    if RunStatus(row.status).is_terminal:
        raise RefusedError(
            "INSTANCE_OVER",
            f"instance {row.instance_id} of '{row.workflow_id}' is {row.status} already",
            "nothing is left to end",
        )
    command = ask_to_end(connection, row, kill, author, now_ms)
    if command is None:
        wake_queue(connection, row.workflow_id)
    return command


def end_workflow(connection: Connection, workflow_id: str, kill: bool, author: str, now_ms: int) -> int:
    """Stop or kill all instances of a workflow; how many there were."""
    lock_workflow(connection, workflow_id)
    queued = stop_queued(connection, workflow_id, now_ms, kill)
    return queued + ask_live_to_end(connection, workflow_id, kill, author, now_ms)


def unblock(connection: Connection, workflow_id: str, instance_id: int | None, now_ms: int) -> int:
    """Let a queue go on past failed instances; how many there were."""
    lock_workflow(connection, workflow_id)
    where = [runs.c.workflow_id == workflow_id, runs.c.blocking]
    if instance_id is not None:
        latest_run(connection, workflow_id, instance_id)
        where.append(runs.c.instance_id == instance_id)
    freed = connection.execute(update(runs).where(*where).values(blocking=False)).rowcount
    wake_queue(connection, workflow_id)
    return freed


def pause_instance(connection: Connection, row: Any, paused: bool, author: str, now_ms: int) -> int:
    """Hold the steps that have not begun, or let them go on."""
    if RunStatus(row.status).is_terminal:
        raise RefusedError(
            "INSTANCE_OVER",
            f"instance {row.instance_id} of '{row.workflow_id}' is {row.status} already",
            "start a new one",
        )
    if not row.ready:
        raise RefusedError(
            "INSTANCE_QUEUED",
            f"instance {row.instance_id} of '{row.workflow_id}' has not begun",
            "pause the workflow to hold its queue",
        )
    return ask(connection, row.id, Command.PAUSE if paused else Command.RESUME, author, now_ms)


def act_on_step(
    connection: Connection,
    row: Any,
    step_id: str,
    kind: Command,
    author: str,
    now_ms: int,
    params: Params | None = None,
) -> int:
    """Ask for something on a step of an instance that is under way; the command to wait for."""
    status = step_status(connection, row, step_id)
    reason = _refusal(kind, status)
    if reason is not None:
        raise RefusedError(
            "STEP_ACTION_REFUSED",
            f"step '{step_id}' is {status.value}: {reason}",
            "see its status with `calve runs`",
        )
    payload = dump({} if params is None else {"params": params_to_json(params)})
    return ask(connection, row.id, kind, author, now_ms, step_id, payload)


def step_status(connection: Connection, row: Any, step_id: str) -> StepStatus:
    """The status of the newest attempt of a step; NOT_CREATED if there is none yet."""
    query = select(steps.c.status).where(steps.c.run == row.id, steps.c.step_id == step_id)
    found = connection.execute(query.order_by(steps.c.attempt_id.desc()).limit(1)).scalar()
    if found is not None:
        return StepStatus(found)
    return StepStatus.NOT_CREATED


def _refusal(kind: Command, status: StepStatus) -> str | None:
    if kind in (Command.STEP_STOP, Command.STEP_KILL) and (
        status.is_over or status is StepStatus.NOT_CREATED
    ):
        return "only a step that is under way can be ended"
    if kind == Command.STEP_SKIP and (status.is_complete or status is StepStatus.NOT_CREATED):
        return "only a step that is under way, or failed, can be skipped"
    if kind == Command.STEP_BYPASS and status is not StepStatus.WAITING_FOR_SIGNALS:
        return "only a step that waits for signals can bypass them"
    if kind == Command.STEP_RESUME and status is not StepStatus.PAUSED:
        return "only a step that is paused can be resumed"
    if kind == Command.STEP_RESTART and not status.is_terminal:
        return "only a step that has ended can be restarted"
    return None


def resume_held(connection: Connection, place: Place, author: str, now_ms: int) -> int:
    """Let go all attempts of a step that a breakpoint may have held; how many they are."""
    narrowed = (
        (runs.c.version, place.version),
        (runs.c.instance_id, place.instance_id),
        (runs.c.run_id, place.run_id),
        (steps.c.attempt_id, place.attempt_id),
    )
    held = connection.execute(
        select(runs.c.id, runs.c.workflow_id, runs.c.request)
        .join(steps, steps.c.run == runs.c.id)
        .where(
            steps.c.step_id == place.step_id,
            steps.c.status == literal_column(f"'{StepStatus.PAUSED.value}'"),
            *(column == value for column, value in narrowed if value is not None),
        )
    ).all()
    found = [row.id for row in held if _owner(row) == place.workflow_id]
    for run in found:
        ask(connection, run, Command.STEP_RESUME, author, now_ms, place.step_id)
    return len(found)


def _owner(row: Any) -> str:
    """The workflow whose definition a run follows: of an iteration, the one around its loop."""
    loop = json.loads(row.request).get("loop") or {}
    return str(loop.get("workflow_id", row.workflow_id))
