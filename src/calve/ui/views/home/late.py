"""Changes of tables that start nothing, or wait for too long, by what triggers noted: no table is read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select

from calve.engine.triggers.tables.decision import What
from calve.engine.triggers.tables.waits import Waits
from calve.engine.views.documents import load_map
from calve.engine.views.refusals import newest_refusals
from calve.engine.views.triggers import last_start_refused, was_refused
from calve.server.dependencies import Json
from calve.state.orchestration import incremental_triggers, workflows
from calve.ui.formats import duration
from calve.ui.views.home.line import LINES_LIMIT, line, sentence, trigger_line, with_more
from calve.ui.views.home.refusals import refused_line
from calve.ui.views.tables.lateness import GRACE_MS, late_changes

#: Of so many triggers with something to tell the decision is read.
_LOOKED_AT = 200
_T = incremental_triggers
_COLUMNS = (
    _T.c.workflow_id, _T.c.trigger_uuid, _T.c.definition, _T.c.waiting_since, _T.c.decision, _T.c.looked_at,
    _T.c.waits, _T.c.falls_behind, _T.c.started_at, _T.c.instance_id,
)  # fmt: skip


def late_consumers(connection: Connection, now: int, but_not: Collection[str]) -> list[Json]:
    """Triggers on tables that cannot go on, or whose changes wait past what was promised, or ever longer."""
    query = (
        select(*_COLUMNS)
        .join(workflows, workflows.c.workflow_id == _T.c.workflow_id)
        .where(
            _T.c.active,
            workflows.c.active_version.is_not(None),
            or_(
                _T.c.falls_behind,
                _T.c.waiting_since < now - GRACE_MS,
                and_(_T.c.started_at.is_not(None), _T.c.instance_id.is_(None)),
                *(_begins(_T.c.decision, f'{{"what":"{what.value}"') for what in (What.ERROR, What.HELD)),
            ),
        )
        .order_by(_T.c.waiting_since, _T.c.looked_at)
        .limit(_LOOKED_AT)
    )
    lines: list[Json] = []
    for row in connection.execute(query).all():
        told = None if row.workflow_id in but_not else _line(connection, row, now)
        lines += [] if told is None else [told]
        if len(lines) > LINES_LIMIT:
            break
    return with_more(lines, _more())


def _begins(text: ColumnElement[str], beginning: str) -> ColumnElement[bool]:
    """Whether a text begins so; cheaper than a pattern, for each trigger there is."""
    return func.substr(text, 1, len(beginning)) == beginning


def _line(connection: Connection, row: Row[*tuple[Any, ...]], now: int) -> Json | None:
    decision = load_map(row.decision)
    why = str(decision.get("why") or "")
    if decision.get("what") == What.ERROR:
        return _told(row, "FAILED", f"A table of its trigger cannot be read: {why}.", row.looked_at)
    refusal = _refusal(connection, row)
    if refusal is not None:
        return refused_line(row.workflow_id, refusal)
    if decision.get("what") == What.HELD:
        return _told(row, "BLOCKED", f"Changes wait, and start nothing: {why}.", row.looked_at)
    late = late_changes(row, decision, now)
    if late is not None:
        return _told(row, "LATE", sentence(f"{late}: {why}"), row.waiting_since)
    return _told(row, "LATE", _growth(row), row.started_at) if row.falls_behind else None


def _refusal(connection: Connection, row: Row[*tuple[Any, ...]]) -> Json | None:
    # Events are read only where there is something to find.
    return last_start_refused(row, newest_refusals(connection, row.workflow_id)) if was_refused(row) else None


def _growth(row: Row[*tuple[Any, ...]]) -> str:
    waits = ", ".join(duration(ms) for ms in Waits.from_text(row.waits).last_ms)
    return f"Its lag grows: when it last started, the oldest change had waited for {waits}."


def _told(row: Row[*tuple[Any, ...]], status: str, why: str, since: int | None) -> Json:
    return trigger_line(status, row.workflow_id, why, since)


def _more() -> Json:
    why = "Changes of tables start nothing, or wait for too long, in further workflows as well."
    return line("LATE", "More workflows", why, since=None, href="/tables", act="All tables")
