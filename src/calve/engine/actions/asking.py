"""What is done to runs from outside: queued ones are ended at once, for others their engine is asked."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, insert, literal_column, select, update

from calve.engine.model.commands import Command
from calve.engine.model.requests import Started, StartOutcome
from calve.engine.model.statuses import RunStatus
from calve.engine.outbox import dump
from calve.state.orchestration import commands, events, runs

ENGINE = "engine"


def ask(
    connection: Connection,
    run: int,
    kind: Command,
    author: str,
    now_ms: int,
    step_id: str | None = None,
    payload: str = "{}",
) -> int:
    """Ask the engine that owns a run for something; the key of the command."""
    made = connection.execute(
        insert(commands).values(
            run=run, step_id=step_id, kind=kind.value, payload=payload, author=author, created_at=now_ms
        )
    ).inserted_primary_key
    assert made is not None
    return int(made[0])


def ask_to_end(connection: Connection, row: Any, kill: bool, author: str, now_ms: int) -> int | None:
    """End a run that is not over; the command to wait for, None if it was in the queue and is ended."""
    if not row.ready and end_queued(connection, row, _end(kill), now_ms):
        return None
    return ask(connection, row.id, Command.KILL if kill else Command.STOP, author, now_ms)


def ask_live_to_end(connection: Connection, workflow_id: str, kill: bool, author: str, now_ms: int) -> int:
    """Ask for the end of all runs of a workflow that are under way; how many they are."""
    live = select(runs).where(runs.c.workflow_id == workflow_id, is_status(RunStatus.IN_PROGRESS))
    found = connection.execute(live).all()
    for row in found:
        ask_to_end(connection, row, kill, author, now_ms)
    return len(found)


def stop_queued(connection: Connection, workflow_id: str, now_ms: int, kill: bool = False) -> int:
    """End all runs of a workflow that nobody has let through yet; how many there were."""
    waiting = connection.execute(select(runs).where(runs.c.workflow_id == workflow_id, *_is_queued())).all()
    for row in waiting:
        end_queued(connection, row, _end(kill), now_ms)
    return len(waiting)


def end_queued(connection: Connection, row: Any, status: RunStatus, now_ms: int) -> bool:
    """End one run that waits in the queue; false if it is no longer there."""
    ended = connection.execute(
        update(runs).where(runs.c.id == row.id, *_is_queued()).values(status=status.value, ended_at=now_ms)
    )
    if ended.rowcount != 1:
        return False
    note_end(connection, row, status, now_ms)
    return True


def note_end(connection: Connection, row: Any, status: RunStatus, now_ms: int) -> None:
    """Note the end of a run that no engine owns, and tell the step that started it."""
    run = Started(row.workflow_id, row.instance_id, row.run_id, row.uuid, StartOutcome.STOPPED, row.id)
    note_run(connection, run, status, now_ms)
    if row.parent_run is not None:
        tell_parent(connection, row.parent_run, row.parent_step, now_ms)


def tell_parent(connection: Connection, run: int, step_id: str, now_ms: int) -> None:
    """Have a step count the runs that it started: one of them is over."""
    ask(connection, run, Command.CHILD_ENDED, ENGINE, now_ms, step_id)


def note_run(connection: Connection, run: Started, status: RunStatus, now_ms: int) -> None:
    """Note the status of a run that no engine owns."""
    row = {
        "at": now_ms,
        "kind": "run",
        "workflow_id": run.workflow_id,
        "run": run.run,
        "instance_id": run.instance_id,
        "run_id": run.run_id,
        "data": dump({"status": status.value}),
    }
    connection.execute(insert(events), row)


def is_status(status: RunStatus) -> Any:
    """A condition that the partial index of that status serves: the status stands in the statement's text."""
    return runs.c.status == literal_column(f"'{status.value}'")


def _is_queued() -> tuple[Any, ...]:
    return is_status(RunStatus.CREATED), ~runs.c.ready


def _end(kill: bool) -> RunStatus:
    return RunStatus.FAILED if kill else RunStatus.STOPPED
