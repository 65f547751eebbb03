"""The queue of a workflow: which instances its run strategy lets through."""

from __future__ import annotations

from sqlalchemy import bindparam, func, select

from calve.engine.actions.asking import is_status
from calve.engine.catalog.rows import WorkflowRow, find_locked
from calve.engine.core.batch import Batch
from calve.engine.core.context import Core
from calve.engine.core.failing import blaming
from calve.engine.core.loading import load_run
from calve.engine.core.messages import GoOn
from calve.engine.core.progress import watch_deadline
from calve.engine.model.statuses import RunStatus
from calve.state.orchestration import runs
from calve.workflow.definition.run_strategy import SEQUENTIAL, Rule

#: How many instances are let through in one transaction.
AT_ONCE = 50


def look_at_queue(core: Core, batch: Batch, workflow_id: str) -> None:
    """Let through as many instances as the run strategy allows, the oldest first."""
    batch.flush()
    connection = batch.connection
    if not _waiting(batch, workflow_id, 1):
        return
    workflow = find_locked(connection, workflow_id)
    if workflow is None or workflow.paused:
        return
    strategy = workflow.properties.run_strategy or SEQUENTIAL
    if strategy.rule is Rule.STRICT_SEQUENTIAL and _is_blocked(batch, workflow_id):
        return
    room = min(strategy.workflow_concurrency - _live(batch, workflow_id), AT_ONCE)
    if room <= 0:
        return
    found = _waiting(batch, workflow_id, room)
    for run in found:
        with blaming(run):
            _let_through(core, batch, run, workflow)
    if len(found) == AT_ONCE:
        batch.queues[workflow_id] = None


def _let_through(core: Core, batch: Batch, run: int, workflow: WorkflowRow) -> None:
    takes = core.may_take_more()
    loaded = load_run(batch.connection, run, core.runs, workflow)
    assert loaded is not None
    loaded.owned = takes
    loaded.move(RunStatus.IN_PROGRESS, batch.now_ms)
    if loaded.deadline_at is not None:
        # Until now it was how long the run may take.
        loaded.deadline_at += batch.now_ms
    batch.touch_run(loaded)
    batch.record("run", loaded, {"status": loaded.status.value})
    if takes:
        core.runs[run] = loaded
        watch_deadline(core, loaded)
        batch.todo.append(GoOn(run))
    else:
        batch.ask_for_sweep()


def _waiting(batch: Batch, workflow_id: str, at_most: int) -> list[int]:
    found = batch.connection.execute(_WAITING, {"workflow_id": workflow_id, "at_most": at_most})
    return list(found.scalars())


def _live(batch: Batch, workflow_id: str) -> int:
    return batch.connection.execute(_LIVE, {"workflow_id": workflow_id}).scalar_one()


def _is_blocked(batch: Batch, workflow_id: str) -> bool:
    return batch.connection.execute(_BLOCKING, {"workflow_id": workflow_id}).first() is not None


_OF_WORKFLOW = runs.c.workflow_id == bindparam("workflow_id")
_WAITING = (
    select(runs.c.id)
    .where(_OF_WORKFLOW, is_status(RunStatus.CREATED), ~runs.c.ready)
    .order_by(runs.c.instance_id, runs.c.run_id)
    .limit(bindparam("at_most"))
)
_LIVE = select(func.count()).where(_OF_WORKFLOW, is_status(RunStatus.IN_PROGRESS))
_BLOCKING = select(runs.c.id).where(_OF_WORKFLOW, runs.c.blocking).limit(1)
