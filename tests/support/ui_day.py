"""The runs of a story told within minutes, as if they had come one after the other over a day."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Column, Connection, delete, select, update

from calve.state.database import Database
from calve.state.orchestration import events, runs, steps
from calve.state.schema import capture_writes, captures

#: The runs of a workflow lie so far apart.
APART_MS = 75 * 60_000
_TIMES = {
    runs: (runs.c.created_at, runs.c.started_at, runs.c.ended_at),
    steps: (steps.c.created_at, steps.c.started_at, steps.c.ended_at),
    captures: (captures.c.created_at, captures.c.ready_at, captures.c.committed_at, captures.c.dropped_at),
    capture_writes: (capture_writes.c.begun_at, capture_writes.c.landed_at),
}


def spread_over_day(database: Database) -> None:
    """Move each instance back, by how many newer ones its workflow has; the newest stay where they are."""
    with database.write() as connection:
        query = select(runs.c.id, runs.c.workflow_id, runs.c.instance_id).where(~runs.c.inline)
        found = connection.execute(query).all()
        newest: dict[str, int] = {}
        for run in found:
            newest[run.workflow_id] = max(newest.get(run.workflow_id, 0), run.instance_id)
        for run in found:
            by = (newest[run.workflow_id] - run.instance_id) * APART_MS
            if by:
                _move(connection, run.id, f"{run.workflow_id}/{run.instance_id}/", by)


def _move(connection: Connection, root: int, ref: str, by: int) -> None:
    inside = select(runs.c.id).where((runs.c.id == root) | (runs.c.root_run == root))
    ids = list(connection.execute(inside).scalars())
    taken = select(captures.c.id).where(captures.c.run_ref.startswith(ref, autoescape=True))
    keys = list(connection.execute(taken).scalars())
    _shift(connection, runs.c.id, ids, by)
    _shift(connection, steps.c.run, ids, by)
    # Their data has times as well; without them, pages show those of the rows.
    connection.execute(delete(events).where(events.c.run.in_(ids)))
    _shift(connection, captures.c.id, keys, by)
    _shift(connection, capture_writes.c.capture_id, keys, by)


def _shift(connection: Connection, key: Column[int] | Column[str], values: Iterable[object], by: int) -> None:
    table = key.table
    moved = {column.name: column - by for column in _TIMES[table]}
    connection.execute(update(table).where(key.in_(values)).values(moved))
