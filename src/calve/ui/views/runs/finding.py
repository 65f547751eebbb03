"""The newest runs, a page at a time.

A page costs a bounded time however rare what is asked for is: it looks at so many runs at most, and the next
one goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select

from calve.engine.model.statuses import RunStatus
from calve.engine.views.lookup import find_workflow
from calve.engine.views.newest import read_newest
from calve.engine.views.numbers import is_number
from calve.engine.views.runs import LIVE, has_status, parse_status
from calve.state.orchestration import runs

SIZE = 50
#: A page looks at no more runs than this.
WINDOW = 20_000
_COLUMNS = (
    runs.c.id,
    runs.c.workflow_id,
    runs.c.instance_id,
    runs.c.run_id,
    runs.c.version,
    runs.c.status,
    runs.c.paused,
    runs.c.inline,
    runs.c.parent_run,
    runs.c.parent_step,
    runs.c.initiator,
    runs.c.request,
    runs.c.error,
    runs.c.created_at,
    runs.c.started_at,
    runs.c.ended_at,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are asked for; None is all. `cursor` is where the page before ended."""

    workflow_id: str | None = None
    status: RunStatus | None = None
    cursor: str | None = None

    @classmethod
    def parse(cls, workflow_id: str, status: str, cursor: str) -> Wanted:
        """What a query says; an empty text is nothing."""
        return cls(workflow_id or None, parse_status(status) if status else None, cursor or None)

    @property
    def key(self) -> tuple[ColumnElement[int], ...]:
        """What the runs are ordered by: their age, and within a workflow that of their instances."""
        return (runs.c.id,) if self.workflow_id is None else (runs.c.instance_id, runs.c.run_id)


@dataclass(frozen=True, slots=True)
class Found:
    """A page of runs; `older` is the cursor of the next one, None at the end."""

    rows: Sequence[Row[Any]]
    older: str | None


def list_runs(connection: Connection, wanted: Wanted) -> Found:
    """A page of runs that are no iterations, the newest first. Raises WORKFLOW_NOT_FOUND."""
    query: Select[Any] = select(*_COLUMNS).where(~runs.c.inline)
    if wanted.workflow_id is not None:
        find_workflow(connection, wanted.workflow_id)
        query = query.where(runs.c.workflow_id == wanted.workflow_id)
    if wanted.status in LIVE:
        # Looked up first: in the order of their age, all runs would be gone through for a few.
        query = query.where(runs.c.id.in_(select(runs.c.id).where(has_status(wanted.status))))
        return Found(*read_newest(connection, query, wanted.key, SIZE, SIZE, wanted.cursor))
    if wanted.status is not None:
        query = query.where(has_status(wanted.status))
    end = _window_end(connection, wanted)
    query = query.where(wanted.key[0] > end)
    rows, older = read_newest(connection, query, wanted.key, SIZE, SIZE, wanted.cursor)
    # Past the window it goes on below all that was looked at.
    after = "-".join([str(end + 1), *("0" for _ in wanted.key[1:])]) if end else None
    return Found(rows, older or after)


def _window_end(connection: Connection, wanted: Wanted) -> int:
    """The number above which this page looks; 0: down to the very first."""
    if wanted.cursor is not None:
        head = wanted.cursor.partition("-")[0]
        # A cursor that is none is refused by what reads the page.
        begin = int(head) if is_number(head) else 0
    else:
        query = select(func.max(wanted.key[0]))
        if wanted.workflow_id is not None:
            query = query.where(runs.c.workflow_id == wanted.workflow_id)
        begin = connection.execute(query).scalar() or 0
    return max(begin - WINDOW, 0)
