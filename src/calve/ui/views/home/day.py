"""The runs of the last 24 hours, by workflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, literal, select

from calve.engine.model.statuses import RunStatus
from calve.server.dependencies import Json
from calve.state.orchestration import runs
from calve.ui.drawing.day_timeline import DAY_MS, Span, draw_day
from calve.ui.formats import zone_of

_ROWS = 20
#: Runs are numbered as they are queued, so the newest numbers are the last hours; iterations count too.
_LOOK_BACK = 10_000
_MOST_RUNS = 1_000
_MOST_OF_ONE = 30
_MOST_LONG = 100
_COLUMNS = (
    runs.c.workflow_id, runs.c.instance_id, runs.c.run_id, runs.c.status, runs.c.created_at,
    runs.c.started_at, runs.c.ended_at,
)  # fmt: skip
_OF_ONE = (
    select(*_COLUMNS)
    .where(runs.c.workflow_id == bindparam("name"), ~runs.c.inline)
    .order_by(runs.c.instance_id.desc(), runs.c.run_id.desc())
    .limit(_MOST_OF_ONE)
)
_Rows = Sequence[Row[*tuple[Any, ...]]]


def last_day(connection: Connection, now: int, zone: str) -> Json:
    """The picture of the last 24 hours: the workflows with most runs, those that ran last first."""
    begin = now - DAY_MS
    newest = connection.execute(select(func.max(runs.c.id))).scalar() or 0
    latest = _newest_runs(connection, newest, begin)
    is_complete = len(latest) < _MOST_RUNS and not _has_more(connection, newest, begin)
    long = _long_runs(connection, begin)
    found = [*latest, *long]
    counts = Counter(row.workflow_id for row in found)
    shown = dict.fromkeys(row.workflow_id for row in found)
    busiest = {name for name, _ in counts.most_common(_ROWS)}
    lines: dict[str, list[Span]] = {name: [] for name in shown if name in busiest}
    for row in found if is_complete else [*_runs_of(connection, lines, begin), *long]:
        if row.workflow_id in lines:
            lines[row.workflow_id].append(_span(row))
    return {
        "picture": draw_day(lines, now, zone_of(zone)).to_json() if lines else None,
        "runs": len(found),
        "statuses": dict(Counter(row.status for row in found).most_common()),
        "workflows": len(counts),
        "complete": is_complete,
    }


def _newest_runs(connection: Connection, newest: int, begin: int) -> _Rows:
    query = select(*_COLUMNS).where(
        runs.c.id > newest - _LOOK_BACK, ~runs.c.inline, runs.c.created_at > begin
    )
    return connection.execute(query.order_by(runs.c.id.desc()).limit(_MOST_RUNS)).all()


def _long_runs(connection: Connection, begin: int) -> _Rows:
    """Runs that go on since before the last 24 hours, by the index of those that go on."""
    query = select(*_COLUMNS).where(
        runs.c.status == literal(RunStatus.IN_PROGRESS.value, literal_execute=True),
        ~runs.c.inline,
        runs.c.created_at <= begin,
    )
    # Ordered by what has no index, so that the database has no reason to take another one.
    return connection.execute(query.order_by(runs.c.created_at).limit(_MOST_LONG)).all()


def _has_more(connection: Connection, newest: int, begin: int) -> bool:
    """Whether the last 24 hours go on past the newest runs that were looked at."""
    query = select(runs.c.created_at).where(runs.c.id <= newest - _LOOK_BACK)
    before = connection.execute(query.order_by(runs.c.id.desc()).limit(1)).scalar()
    return before is not None and before > begin


def _runs_of(connection: Connection, names: Iterable[str], begin: int) -> _Rows:
    """The newest runs of each of some workflows: a busy lake has more runs a day than can be drawn."""
    # Their age is asked of what was found: within, all runs of a workflow that ran less would be looked at.
    # One short statement for each costs less than one long one, which would have to be made anew each time.
    found = (connection.execute(_OF_ONE, {"name": name}) for name in names)
    return [row for rows in found for row in rows if row.created_at > begin]


def _span(row: Row[*tuple[Any, ...]]) -> Span:
    begun = row.started_at or row.created_at
    goes_on = row.status == RunStatus.IN_PROGRESS
    end = None if goes_on else row.ended_at or begun
    return Span(f"{row.instance_id}/{row.run_id}", row.status, begun, end)
