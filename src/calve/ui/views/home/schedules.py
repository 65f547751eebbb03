"""Schedules that should have started something, and did not."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from calve.server.dependencies import Json
from calve.state.orchestration import time_triggers
from calve.ui.views.home.line import LINES_LIMIT, line, sentence, trigger_line, with_more
from calve.ui.views.tables.lateness import is_overdue, late_schedule


def overdue_schedules(connection: Connection, now: int, but_not: Collection[str]) -> list[Json]:
    """Workflows with a trigger on the time that is overdue, the longest first."""
    query = (
        select(time_triggers.c.workflow_id, time_triggers.c.next_at)
        .where(is_overdue(now), time_triggers.c.workflow_id.not_in(list(but_not)))
        .order_by(time_triggers.c.next_at)
        # A workflow may have several.
        .limit(4 * LINES_LIMIT)
    )
    due: dict[str, int] = {}
    for row in connection.execute(query):
        due.setdefault(row.workflow_id, row.next_at)
    lines = [
        trigger_line(
            "LATE",
            workflow_id,
            sentence(f"{late_schedule(next_at, now)}, and has started nothing since"),
            next_at,
        )
        for workflow_id, next_at in due.items()
    ]
    why = "The schedules of further workflows are overdue as well."
    more = line("LATE", "More workflows", why, since=None, href="/workflows", act="All workflows")
    return with_more(lines, more)
