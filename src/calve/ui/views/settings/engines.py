"""Engines, queues and permits as they are now."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, Select, func, literal, select

from calve.engine.catalog.permits import list_permits
from calve.engine.core.lease import is_gone
from calve.engine.model.statuses import RunStatus
from calve.engine.views.counting import COUNT_LIMIT, count_some
from calve.server.dependencies import Json
from calve.state.orchestration import leases, permits, runs

_QUEUES = 20


def engines(connection: Connection, lease_ms: int, now_ms: int) -> list[Json]:
    """The engines that have not said that they ended, with their last beat and the runs that they own."""
    # As a bare column, which is how the partial index says it.
    rows = connection.execute(select(leases).where(leases.c.alive).order_by(leases.c.generation)).all()
    owned = select(runs.c.owner, func.count().label("count")).where(runs.c.owner.is_not(None))
    counts = {row.owner: row._mapping["count"] for row in connection.execute(owned.group_by(runs.c.owner))}
    return [_engine(row, counts.get(row.generation, 0), lease_ms, now_ms) for row in rows]


def queues(connection: Connection) -> Json:
    """How many runs wait and how many go on, and where most of them are."""
    return {
        status.value: {
            "count": count_some(connection, _of(status)),
            "most": _most(connection, status),
        }
        for status in (RunStatus.CREATED, RunStatus.IN_PROGRESS)
    }


def permit_use(connection: Connection) -> list[Json]:
    """The limit of each tag, and how many steps have a permit of it."""
    query = select(permits.c.tag, func.count().label("used")).group_by(permits.c.tag)
    used = {row.tag: row.used for row in connection.execute(query)}
    return [
        {"tag": tag, "limit": limit, "used": used.get(tag, 0)}
        for tag, limit in list_permits(connection).items()
    ]


def _engine(row: Row[Any], owned: int, lease_ms: int, now_ms: int) -> Json:
    is_late = now_ms - row.beaten_at > lease_ms
    return {
        "generation": row.generation,
        "host": row.host,
        "pid": row.pid,
        "start_time": row.started_at,
        "beat_time": row.beaten_at,
        "status": "GONE" if is_gone(row) else "LATE" if is_late else "OK",
        "runs": owned,
    }


def _of(status: RunStatus) -> Select[Any]:
    # The status stands in the text of the statement, so that the partial index of that status serves it.
    return select(runs.c.workflow_id).where(runs.c.status == literal(status.value, literal_execute=True))


def _most(connection: Connection, status: RunStatus) -> list[Json]:
    some = _of(status).limit(COUNT_LIMIT).subquery()
    count = func.count().label("count")
    query = (
        select(some.c.workflow_id, count).group_by(some.c.workflow_id).order_by(count.desc()).limit(_QUEUES)
    )
    return [
        {"workflow_id": row.workflow_id, "count": row._mapping["count"]} for row in connection.execute(query)
    ]
