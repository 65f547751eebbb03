"""What is asked of an engine about a run that it owns."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import select, update

from calve.engine.actions.asking import ENGINE, ask
from calve.engine.core import conclude, progress
from calve.engine.core.batch import Batch
from calve.engine.core.context import Core
from calve.engine.core.failing import blaming
from calve.engine.core.messages import CountAnew, GoOn
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.core.waiting import bypass_dependencies
from calve.engine.model.commands import Command
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.state.orchestration import commands, runs

S = StepStatus


def take_commands(core: Core, batch: Batch) -> None:
    """Carry out all that is asked about runs of this engine, in the order it was asked."""
    rows = batch.connection.execute(
        select(commands)
        .join(runs, runs.c.id == commands.c.run)
        .where(commands.c.done_at.is_(None), runs.c.owner == batch.owner)
        .order_by(commands.c.id)
    ).all()
    for row in rows:
        run = core.runs.get(row.run)
        if run is None:
            continue
        with blaming(run.id):
            refusal = _carry_out(core, batch, run, row)
        batch.connection.execute(
            update(commands).where(commands.c.id == row.id).values(done_at=batch.now_ms, refusal=refusal)
        )
        if row.kind != Command.CHILD_ENDED:
            step = None if row.step_id is None else run.steps.get(row.step_id)
            data = {"action": row.kind, "author": row.author, "refusal": refusal}
            batch.record("action", run, data, step)


def close_stale_commands(batch: Batch) -> None:
    """Answer what was asked about runs that are over."""
    over = select(runs.c.id).where(runs.c.id == commands.c.run, runs.c.ended_at.is_not(None)).exists()
    batch.connection.execute(
        update(commands)
        .where(commands.c.done_at.is_(None), over)
        .values(done_at=batch.now_ms, refusal="the run is over")
    )


def _carry_out(core: Core, batch: Batch, run: RunState, row: Any) -> str | None:
    if run.status.is_terminal:
        return "the run is over"
    payload = json.loads(row.payload)
    if row.kind == Command.CHILD_ENDED:
        message = CountAnew(run.id, row.step_id)
        if message not in batch.todo:
            batch.todo.append(message)
        return None
    if run.ending is not None:
        same = _ENDS.get(row.kind) is run.ending
        return None if same else f"the run is on its way to {run.ending.value}"
    if row.step_id is None:
        _RUN_COMMANDS[row.kind](core, batch, run)
        return None
    step = run.steps.get(row.step_id)
    if step is None:
        return "the step has not begun"
    return _STEP_COMMANDS[row.kind](core, batch, run, step, payload)


def _stop(core: Core, batch: Batch, run: RunState) -> None:
    progress.end_run(core, batch, run, RunStatus.STOPPED)


def _kill(core: Core, batch: Batch, run: RunState) -> None:
    progress.end_run(core, batch, run, RunStatus.FAILED)


def _pause(core: Core, batch: Batch, run: RunState) -> None:
    _set_paused(batch, run, True)


def _resume(core: Core, batch: Batch, run: RunState) -> None:
    _set_paused(batch, run, False)
    batch.todo.append(GoOn(run.id))


def _set_paused(batch: Batch, run: RunState, paused: bool) -> None:
    run.paused = paused
    batch.touch_run(run)
    batch.flush()
    live = runs.c.status == RunStatus.IN_PROGRESS.value
    iterations = select(runs.c.id).where(runs.c.parent_run == run.id, runs.c.inline, live)
    for iteration in batch.connection.execute(iterations).scalars().all():
        kind = Command.PAUSE if paused else Command.RESUME
        ask(batch.connection, iteration, kind, ENGINE, batch.now_ms)
        batch.ask_for_sweep()


def _end_step(target: StepStatus) -> Callable[[Core, Batch, RunState, StepState, Any], str | None]:
    def carry_out(core: Core, batch: Batch, run: RunState, step: StepState, payload: Any) -> str | None:
        if step.status.is_complete or (step.status.is_over and target is not S.SKIPPED):
            return f"the step is {step.status.value}"
        if step.ending is not None:
            return None if step.ending is target else f"the step is on its way to {step.ending.value}"
        conclude.end(core, batch, run, step, target)
        return None

    return carry_out


def _bypass(core: Core, batch: Batch, run: RunState, step: StepState, payload: Any) -> str | None:
    if step.status is not S.WAITING_FOR_SIGNALS:
        return f"the step is {step.status.value}"
    bypass_dependencies(step)
    batch.touch_step(step)
    batch.todo.append(GoOn(run.id))
    return None


def _resume_step(core: Core, batch: Batch, run: RunState, step: StepState, payload: Any) -> str | None:
    if step.status is not S.PAUSED:
        return f"the step is {step.status.value}"
    step.artifacts["resumed"] = True
    batch.touch_step(step)
    batch.todo.append(GoOn(run.id))
    return None


def _restart_step(core: Core, batch: Batch, run: RunState, step: StepState, payload: Any) -> str | None:
    if not step.status.is_terminal:
        return f"the step is {step.status.value}"
    later = [run.steps[name] for name in run.graph.descendants(step.id) if name in run.steps]
    if later:
        return f"step '{later[0].id}' after it has begun; restart the instance from this step instead"
    if payload.get("params"):
        run.request.setdefault("step_params", {}).setdefault(step.id, {}).update(payload["params"])
        batch.touch_run(run)
    progress.next_attempt(batch, run, step)
    batch.todo.append(GoOn(run.id))
    return None


_ENDS = {Command.STOP: RunStatus.STOPPED, Command.KILL: RunStatus.FAILED}
_RUN_COMMANDS: dict[str, Callable[[Core, Batch, RunState], None]] = {
    Command.STOP: _stop,
    Command.KILL: _kill,
    Command.PAUSE: _pause,
    Command.RESUME: _resume,
}
_STEP_COMMANDS: dict[str, Callable[[Core, Batch, RunState, StepState, Any], str | None]] = {
    Command.STEP_STOP: _end_step(S.STOPPED),
    Command.STEP_KILL: _end_step(S.FATALLY_FAILED),
    Command.STEP_SKIP: _end_step(S.SKIPPED),
    Command.STEP_BYPASS: _bypass,
    Command.STEP_RESUME: _resume_step,
    Command.STEP_RESTART: _restart_step,
}
