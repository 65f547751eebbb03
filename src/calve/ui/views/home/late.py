"""Changes of tables that wait for longer than they should, by what triggers have noted: no table is read."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select

from calve.engine.triggers.tables.decision import What
from calve.engine.triggers.tables.waits import Waits
from calve.engine.views.documents import load_map
from calve.server.dependencies import Json
from calve.state.orchestration import incremental_triggers, workflows
from calve.ui.addresses import workflow_address
from calve.ui.formats import duration
from calve.ui.views.home.line import LINES_LIMIT, line

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS
#: Of so many triggers with something to tell the decision is read.
_LOOKED_AT = 200
_COLUMNS = (
    incremental_triggers.c.workflow_id, incremental_triggers.c.waiting_since,
    incremental_triggers.c.decision, incremental_triggers.c.looked_at,
    incremental_triggers.c.waits, incremental_triggers.c.falls_behind, incremental_triggers.c.started_at,
)  # fmt: skip


def late_consumers(connection: Connection, now: int, but_not: Collection[str]) -> list[Json]:
    """Triggers on tables that cannot go on, or whose changes wait past what was promised, or ever longer."""
    decision = incremental_triggers.c.decision
    query = (
        select(*_COLUMNS)
        .join(workflows, workflows.c.workflow_id == incremental_triggers.c.workflow_id)
        .where(
            incremental_triggers.c.active,
            workflows.c.active_version.is_not(None),
            or_(
                incremental_triggers.c.falls_behind,
                incremental_triggers.c.waiting_since < now - _MINUTE_MS,
                *(_begins(decision, f'{{"what":"{what.value}"') for what in (What.ERROR, What.HELD)),
            ),
        )
        .order_by(incremental_triggers.c.waiting_since, incremental_triggers.c.looked_at)
        .limit(_LOOKED_AT)
    )
    found = (_line(row, now) for row in connection.execute(query) if row.workflow_id not in but_not)
    return [told for told in found if told is not None][:LINES_LIMIT]


def _begins(text: ColumnElement[str], beginning: str) -> ColumnElement[bool]:
    """Whether a text begins so; cheaper than a pattern, for each trigger there is."""
    return func.substr(text, 1, len(beginning)) == beginning


def _line(row: Row[*tuple[Any, ...]], now: int) -> Json | None:
    decision = load_map(row.decision)
    why = str(decision.get("why") or "")
    match decision.get("what"):
        case What.ERROR:
            return _told(row, "FAILED", f"A table of its trigger cannot be read: {why}.", row.looked_at)
        case What.HELD:
            return _told(row, "BLOCKED", f"Changes wait, and start nothing: {why}.", row.looked_at)
        case _:
            late = _lateness(row, decision, now)
            if late is not None:
                return _told(row, "LATE", f"{late}: {why}.", row.waiting_since)
            return _told(row, "LATE", _growth(row), row.started_at) if row.falls_behind else None


def _lateness(row: Row[*tuple[Any, ...]], decision: Json, now: int) -> str | None:
    if row.waiting_since is None:
        return None
    due = decision.get("next_look")
    if due and datetime.fromisoformat(due).timestamp() * 1000 < now - _MINUTE_MS:
        return "A start is overdue"
    if row.waiting_since < now - _DAY_MS:
        return "Changes wait for more than a day"
    return None


def _growth(row: Row[*tuple[Any, ...]]) -> str:
    waits = ", ".join(duration(ms) for ms in Waits.from_text(row.waits).last_ms)
    return f"Its lag grows: when it last started, the oldest change had waited for {waits}."


def _told(row: Row[*tuple[Any, ...]], status: str, why: str, since: int | None) -> Json:
    return line(
        status,
        row.workflow_id,
        why,
        since=since,
        href=workflow_address(row.workflow_id),
        act="Triggers",
        command=f"calve triggers {row.workflow_id}",
    )
