"""The last resort: a run that the engine itself cannot handle is failed, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.exc import SQLAlchemyError

from calve.engine.actions.asking import ENGINE, ask_to_end, note_end
from calve.engine.model.statuses import ACTIVE, RETRYABLE, RunStatus, StepStatus
from calve.engine.outbox import dump, wake_queue
from calve.errors import ConflictError, UnreachableError
from calve.state.orchestration import permits, runs, steps


class RunFaultError(Exception):
    """A fault of the engine that one run brings to light; `run` is its key."""

    def __init__(self, run: int, error: Exception) -> None:
        super().__init__(f"run {run}: {type(error).__name__}: {error}")
        self.run = run
        self.error = error


@contextmanager
def blaming(run: int) -> Iterator[None]:
    """Say which run a fault is about, so that this run can be failed and all others go on."""
    try:
        yield
    except (UnreachableError, ConflictError, SQLAlchemyError, RunFaultError):
        raise
    except Exception as error:
        raise RunFaultError(run, error) from error


def fail_run(connection: Connection, fault: RunFaultError, now_ms: int) -> None:
    """End a run and its steps by the plainest means there are, and tell all whom its end concerns."""
    row = connection.execute(select(runs).where(runs.c.id == fault.run)).first()
    if row is None or RunStatus(row.status).is_terminal:
        return
    error = {
        "code": "INTERNAL",
        "message": f"{type(fault.error).__name__}: {fault.error}",
        "remedy": "report this: it is a fault in Calve",
    }
    _write_end(connection, row.id, dump(error), now_ms)
    _end_children(connection, row.id, now_ms)
    note_end(connection, row, RunStatus.FAILED, now_ms)
    if not row.inline:
        wake_queue(connection, row.workflow_id)


def _write_end(connection: Connection, run: int, reason: str, now_ms: int) -> None:
    unfinished = [status.value for status in ACTIVE | RETRYABLE]
    connection.execute(
        update(steps)
        .where(steps.c.run == run, steps.c.status.in_(unfinished))
        .values(status=StepStatus.INTERNALLY_FAILED.value, error=reason, ended_at=now_ms)
    )
    connection.execute(
        update(runs)
        .where(runs.c.id == run)
        .values(status=RunStatus.FAILED.value, error=reason, ended_at=now_ms, owner=None, ready=False)
    )
    connection.execute(permits.delete().where(permits.c.run == run))


def _end_children(connection: Connection, run: int, now_ms: int) -> None:
    live = [RunStatus.CREATED.value, RunStatus.IN_PROGRESS.value]
    children: list[Any] = list(
        connection.execute(select(runs).where(runs.c.parent_run == run, runs.c.status.in_(live)))
    )
    for child in children:
        ask_to_end(connection, child, False, ENGINE, now_ms)
