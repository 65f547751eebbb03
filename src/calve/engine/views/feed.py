"""Events in the order in which they happened, from any of them on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select

from calve.engine.views.documents import Json, load_map, without_nones
from calve.state.clock import now_ms
from calve.state.orchestration import events

BATCH = 500
#: A number that is missing for so long was never used: its transaction was rolled back.
_GAP_MS = 2_000


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are wanted; None is all."""

    workflow_id: str | None = None
    instance_id: int | None = None

    def admits(self, row: Row[Any]) -> bool:
        """True for an event that is wanted."""
        return (self.workflow_id is None or row.workflow_id == self.workflow_id) and (
            self.instance_id is None or row.instance_id == self.instance_id
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Events, and where the next batch begins."""

    events: list[Json]
    last_id: int
    #: True if there may be more at once.
    is_full: bool


def newest_event(connection: Connection) -> int:
    """The number of the newest event; 0 if there is none."""
    return connection.execute(select(func.max(events.c.id))).scalar() or 0


def read_events(connection: Connection, after: int, wanted: EventFilter) -> Batch:
    """The events after a number, in order, none left out.

    On PostgreSQL an event may be committed after one with a higher number: the batch ends before a gap until
    the gap is filled, or is old enough to stay one.
    """
    query = select(events).where(events.c.id > after).order_by(events.c.id).limit(BATCH)
    rows = connection.execute(query).all()
    may_fill = connection.dialect.name == "postgresql"
    last = after
    found: list[Json] = []
    for row in rows:
        if may_fill and row.id != last + 1 and now_ms() - row.at < _GAP_MS:
            return Batch(found, last, is_full=False)
        last = row.id
        if wanted.admits(row):
            found.append(_event(row))
    return Batch(found, last, is_full=len(rows) == BATCH)


def _event(row: Row[Any]) -> Json:
    return without_nones(
        {
            "id": row.id,
            "at": row.at,
            "kind": row.kind,
            "workflow_id": row.workflow_id,
            "workflow_instance_id": row.instance_id,
            "workflow_run_id": row.run_id,
            "step_id": row.step_id,
            "step_attempt_id": row.attempt_id,
            "data": load_map(row.data),
        }
    )
