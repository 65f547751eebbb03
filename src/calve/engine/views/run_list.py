"""The newest runs, a page at a time.

A page costs a bounded time however rare what is asked for is: it looks at so many runs at most, and the next
one goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, literal, select

from calve.engine.model.statuses import RunStatus
from calve.engine.views.documents import Json, load, load_map
from calve.engine.views.lookup import find_workflow
from calve.engine.views.newest import read_newest
from calve.engine.views.numbers import is_number
from calve.errors import UsageError
from calve.state.orchestration import runs

RUNS_LIMIT = 1_000
#: A page looks at no more runs than this.
WINDOW = 20_000
#: These have an index of their own, which holds nothing else.
_LIVE = (RunStatus.CREATED, RunStatus.IN_PROGRESS)
#: So have these, in the order of their age over all workflows.
_SELDOM = (RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.STOPPED)
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
    limit: int = 20

    @classmethod
    def parse(
        cls, workflow_id: str | None, status: str | None, cursor: str | None, limit: int = 20
    ) -> Wanted:
        """What a query says; an empty text is nothing. Raises STATUS_UNKNOWN."""
        return cls(workflow_id or None, _parse_status(status) if status else None, cursor or None, limit)

    @property
    def key(self) -> tuple[ColumnElement[int], ...]:
        """What the runs are ordered by: their age, and within a workflow that of their instances."""
        return (runs.c.id,) if self.workflow_id is None else (runs.c.instance_id, runs.c.run_id)


@dataclass(frozen=True, slots=True)
class Found:
    """A page of runs; `older` is the cursor of the next one, None at the end."""

    rows: Sequence[Row[Any]]
    older: str | None


def find_runs(connection: Connection, wanted: Wanted) -> Found:
    """A page of runs that are no iterations, the newest first. Raises WORKFLOW_NOT_FOUND.

    It may hold fewer than asked for, or none, and not be the last one.
    """
    query: Select[Any] = select(*_COLUMNS).where(~runs.c.inline)
    if wanted.workflow_id is not None:
        find_workflow(connection, wanted.workflow_id)
        query = query.where(runs.c.workflow_id == wanted.workflow_id)
    if wanted.status in _LIVE:
        # Looked up first: in the order of their age, all runs would be gone through for a few.
        live = select(runs.c.id).where(_has(wanted.status))
        return _read(connection, query.where(runs.c.id.in_(live)), wanted)
    if wanted.status is not None:
        query = query.where(_has(wanted.status))
    if wanted.workflow_id is None and wanted.status in _SELDOM:
        return _read(connection, query, wanted)
    end = _window_end(connection, wanted)
    found = _read(connection, query.where(wanted.key[0] > end), wanted)
    # Past the window it goes on below all that was looked at.
    after = "-".join([str(end + 1), *("0" for _ in wanted.key[1:])]) if end else None
    return Found(found.rows, found.older or after)


def list_runs(connection: Connection, wanted: Wanted) -> Json:
    """A page of runs for programs."""
    found = find_runs(connection, wanted)
    return {"runs": [_list_entry(row) for row in found.rows], "next_cursor": found.older}


def _read(connection: Connection, query: Select[Any], wanted: Wanted) -> Found:
    return Found(*read_newest(connection, query, wanted.key, wanted.limit, RUNS_LIMIT, wanted.cursor))


def _has(status: RunStatus) -> ColumnElement[bool]:
    # The status stands in the text of the statement, so that the partial index of that status serves it.
    return runs.c.status == literal(status.value, literal_execute=True)


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


def _parse_status(text: str) -> RunStatus:
    """A status by its name. Raises STATUS_UNKNOWN."""
    if text.upper() in RunStatus.__members__:
        return RunStatus[text.upper()]
    raise UsageError(
        "STATUS_UNKNOWN", f"found the status '{text}'", f"use one of {', '.join(RunStatus.__members__)}"
    )


def _list_entry(row: Row[Any]) -> Json:
    return {
        "workflow_id": row.workflow_id,
        "instance_id": row.instance_id,
        "run_id": row.run_id,
        "version": row.version,
        "status": row.status,
        "initiator": load_map(row.initiator).get("type"),
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "error": load(row.error),
    }
