"""Schedules and signals that came, and whose starts were refused."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from calve.engine.views.refusals import failed_starts
from calve.engine.views.triggers import workflow_triggers
from calve.server.dependencies import Json
from calve.ui.drawing.day_timeline import DAY_MS
from calve.ui.views.home.line import LINES_LIMIT, line, trigger_line, with_more


def refused_starts(connection: Connection, now: int, but_not: Collection[str]) -> list[Json]:
    """Workflows with a schedule, or a trigger on signals, of whose last firing no instance came.

    Those of the last 24 hours. A condition that was false is no refusal: the workflow says that it wants no
    instance then.
    """
    lines: list[Json] = []
    for workflow_id, failed in failed_starts(connection, now - DAY_MS).items():
        refusal = None if workflow_id in but_not else _newest(connection, workflow_id, failed)
        lines += [] if refusal is None else [refused_line(workflow_id, refusal)]
        if len(lines) > LINES_LIMIT:
            break
    why = "The starts of further workflows were refused as well."
    more = line("FAILED", "More workflows", why, since=None, href="/workflows", act="All workflows")
    return with_more(lines, more)


def _newest(connection: Connection, workflow_id: str, failed: Collection[tuple[str, int]]) -> Json | None:
    """The newest refusal that a trigger still stands at; one that started something since has none."""
    triggers = workflow_triggers(connection, workflow_id)
    standing: list[Json] = [
        trigger["last_refusal"]
        for trigger in (*triggers["time_triggers"], *triggers["signal_triggers"])
        if trigger["is_active"] and trigger["last_refusal"] is not None
        if (trigger["trigger_uuid"], trigger["last_refusal"]["time"]) in failed
    ]
    return max(standing, key=lambda refusal: int(refusal["time"]), default=None)


def refused_line(workflow_id: str, refusal: Json) -> Json:
    """A line about a refusal, as `find_refusal` gives it."""
    return trigger_line("FAILED", workflow_id, f"The start was refused: {refusal['why']}.", refusal["time"])
