"""What the state says of the runs that captures belong to."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select

from calve.errors import RefusedError
from calve.state.database import Database
from calve.state.orchestration import runs, workflows
from calve.state.schema import captures
from calve.steps.incremental.naming import split_run_ref

#: A run in one of these has not ended.
_LIVE = ("CREATED", "IN_PROGRESS")


def abandonment(database: Database) -> Callable[[str], bool]:
    """Tells of a capture's `run_ref` whether its run has ended, and so will not commit unless restarted."""

    def is_abandoned(run_ref: str) -> bool:
        parts = split_run_ref(run_ref)
        if parts is None:
            return False
        workflow_id, instance_id, _ = parts
        newest = select(runs.c.status).where(
            runs.c.workflow_id == workflow_id, runs.c.instance_id == instance_id, runs.c.latest
        )
        with database.read() as connection:
            status = connection.execute(newest).scalar()
        return status not in _LIVE

    return is_abandoned


def refuse_foreign_consumer(database: Database, consumer: str, workflow_id: str) -> None:
    """Two workflows under one consumer name would each get a part of the changes. Raises CONSUMER_TAKEN."""
    newest = (
        select(captures.c.run_ref)
        .where(captures.c.consumer == consumer, captures.c.run_ref.is_not(None))
        .order_by(captures.c.created_at.desc())
        .limit(1)
    )
    with database.read() as connection:
        run_ref = connection.execute(newest).scalar()
        parts = None if run_ref is None else split_run_ref(run_ref)
        if parts is None or parts[0] == workflow_id:
            return
        there = select(workflows.c.workflow_id).where(workflows.c.workflow_id == parts[0])
        if connection.execute(there).first() is None:
            return
    raise RefusedError(
        "CONSUMER_TAKEN",
        f"the consumer '{consumer}' is that of workflow '{parts[0]}': '{workflow_id}' would take its changes",
        "give this capture step a 'consumer' of its own, or delete the other workflow",
    )
