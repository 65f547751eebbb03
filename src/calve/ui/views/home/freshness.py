"""When each target table was last written, as far as Calve knows it, and up to when it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, false, func, or_, select

from calve.backfill.lineage.loading import BACKFILL_PREFIX
from calve.engine.signals.watermarks import moments_of
from calve.server.dependencies import Json
from calve.state.schema import capture_writes, captures
from calve.ui.views.captures.runs import run_of

_SHOWN = 25
_NOBODY: Json = {"workflow_id": None, "instance_id": None, "is_backfill": False}
#: So many tables are looked at.
TABLES_LIMIT = 2_000


def freshness(connection: Connection) -> Json:
    """The tables that were written under captures, the stalest first."""
    shown = _stalest(connection)
    writers = _writers(connection, shown)
    complete = moments_of(connection, [row.target for row in shown])
    return {
        "total": shown[0].total if shown else 0,
        "tables": [
            {
                "table": row.target,
                "written_at": row.landed_at,
                **writers.get(row.target, _NOBODY),
                "valid_through": complete.get(row.target),
            }
            for row in shown
        ],
    }


def _stalest(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """The tables whose newest write is the oldest, and how many tables there are.

    Goes from table to table in the index, past all but the newest entry of each.
    """
    landed = capture_writes.c.landed_at.is_not(None)
    first = select(func.min(capture_writes.c.target).label("target")).where(landed)
    walk = first.cte("walk", recursive=True)
    following = (
        select(func.min(capture_writes.c.target))
        .where(landed, capture_writes.c.target > walk.c.target)
        .scalar_subquery()
    )
    walk = walk.union_all(select(following).where(walk.c.target.is_not(None)))
    newest = (
        select(func.max(capture_writes.c.landed_at))
        .where(landed, capture_writes.c.target == walk.c.target)
        .scalar_subquery()
    )
    tables = select(walk.c.target, newest.label("landed_at")).where(walk.c.target.is_not(None))
    found = tables.limit(TABLES_LIMIT).subquery()
    query = select(found, func.count().over().label("total")).order_by(found.c.landed_at, found.c.target)
    return connection.execute(query.limit(_SHOWN)).all()


def _writers(connection: Connection, shown: Sequence[Row[*tuple[Any, ...]]]) -> dict[str, Json]:
    """The workflow that made the newest write of each table."""
    # One by one: of a list of pairs, SQLite would read the whole index.
    these = [
        and_(capture_writes.c.target == row.target, capture_writes.c.landed_at == row.landed_at)
        for row in shown
    ]
    query = (
        select(capture_writes.c.target, captures.c.run_ref)
        .join(captures, captures.c.id == capture_writes.c.capture_id)
        .where(
            capture_writes.c.landed_at.is_not(None),
            or_(false(), *these),
        )
    )
    return {row.target: _writer(row.run_ref) for row in connection.execute(query)}


def _writer(run_ref: str | None) -> Json:
    run = run_of(run_ref)
    if run is None:
        return _NOBODY
    # What a backfill writes may be on a branch, where readers do not see it yet.
    is_backfill = run["workflow_id"].startswith(BACKFILL_PREFIX)
    return {"workflow_id": run["workflow_id"], "instance_id": run["instance_id"], "is_backfill": is_backfill}
