"""What needs attention: the worst first."""

from __future__ import annotations

from sqlalchemy import Connection

from calve.engine.core.lease import any_engine_alive
from calve.server.dependencies import Json
from calve.ui.views.home.backfills import waiting_backfills
from calve.ui.views.home.failures import blocked_workflows, failed_workflows
from calve.ui.views.home.late import late_consumers
from calve.ui.views.home.line import line
from calve.ui.views.home.paused import paused_steps, paused_workflows
from calve.ui.views.home.refusals import refused_starts
from calve.ui.views.home.schedules import overdue_schedules


def attention(connection: Connection, now: int) -> list[Json]:
    """All that somebody should look at; of a workflow only what is worst about it."""
    blocked = blocked_workflows(connection)
    failed = failed_workflows(connection, [told["what"] for told in blocked])
    told_of = {told["what"] for told in (*blocked, *failed)}
    refused = refused_starts(connection, now, told_of)
    told_of |= {told["what"] for told in refused}
    late = late_consumers(connection, now, told_of)
    told_of |= {told["what"] for told in late}
    return [
        *_engine(connection),
        *blocked,
        *failed,
        *refused,
        *waiting_backfills(connection),
        *late,
        *overdue_schedules(connection, now, told_of),
        *paused_steps(connection),
        *paused_workflows(connection),
    ]


def _engine(connection: Connection) -> list[Json]:
    if any_engine_alive(connection):
        return []
    return [
        line(
            "BLOCKED",
            "No engine is alive",
            "Nothing that is queued begins, and no trigger fires, before one is started.",
            since=None,
            href="/settings",
            act="Engines",
            command="calve worker",
        )
    ]
