"""Deleting a workflow with all that it left behind, a bounded piece at a time."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Connection, Table, delete, select

from calve.engine.catalog.rows import count_unfinished, lock_workflow
from calve.engine.catalog.versions import forget_definitions
from calve.engine.catalog.workflows import deactivate
from calve.engine.outbox import record_event
from calve.errors import ConflictError
from calve.state.orchestration import (
    breakpoints,
    commands,
    events,
    permits,
    property_changes,
    runs,
    steps,
    workflow_versions,
    workflows,
)

CHUNK = 500
_BY_RUN: tuple[tuple[Table, Column[int]], ...] = (
    (steps, steps.c.run),
    (commands, commands.c.run),
    (permits, permits.c.run),
    (events, events.c.run),
)


def delete_workflow(
    connection: Connection, workflow_id: str, author: str, now_ms: int, chunk: int = CHUNK
) -> bool:
    """Delete the next piece of a workflow; True once it is gone.

    Call it until it gives True, each time in a transaction of its own. The workflow is deactivated first
    and goes last, so that a deletion which stops halfway can be taken up by asking again. Refused while
    instances are queued or under way.
    """
    lock_workflow(connection, workflow_id)
    if count_unfinished(connection, workflow_id, at_most=1):
        raise ConflictError(
            "WORKFLOW_BUSY",
            f"the workflow '{workflow_id}' has instances that have not ended",
            "wait until they end, or stop them",
        )
    deactivate(connection, workflow_id, author, now_ms)
    if _delete_runs(connection, workflow_id, chunk) or _delete_events(connection, workflow_id, chunk):
        return False
    for table in (workflow_versions, property_changes, breakpoints, workflows):
        connection.execute(delete(table).where(table.c.workflow_id == workflow_id))
    forget_definitions()
    record_event(connection, now_ms, "workflow", workflow_id, {"action": "deleted", "author": author})
    return True


def _delete_runs(connection: Connection, workflow_id: str, chunk: int) -> bool:
    found = _deepest(connection, workflow_id, chunk)
    delete_runs(connection, found)
    return bool(found)


def delete_runs(connection: Connection, keys: Sequence[int]) -> None:
    """Delete some runs with their steps, their events and what was asked of them."""
    for table, column in _BY_RUN:
        connection.execute(delete(table).where(column.in_(keys)))
    connection.execute(delete(runs).where(runs.c.id.in_(keys)))


def _deepest(connection: Connection, workflow_id: str, chunk: int) -> Sequence[int]:
    """Some runs without iterations of loops under them: of the workflow, or iterations in its runs."""
    found = connection.execute(select(runs.c.id).where(runs.c.workflow_id == workflow_id).limit(chunk))
    level: Sequence[int] = found.scalars().all()
    while level:
        inside = select(runs.c.id).where(runs.c.parent_run.in_(level), runs.c.inline).limit(chunk)
        below = connection.execute(inside).scalars().all()
        if not below:
            break
        level = below
    return level


def _delete_events(connection: Connection, workflow_id: str, chunk: int) -> bool:
    some = select(events.c.id).where(events.c.workflow_id == workflow_id).limit(chunk)
    found = connection.execute(some).scalars().all()
    connection.execute(delete(events).where(events.c.id.in_(found)))
    return len(found) == chunk
