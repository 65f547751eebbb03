"""Backfills that wait for somebody, or failed."""

from __future__ import annotations

from sqlalchemy import Connection, select

from calve.backfill.statuses import BackfillStatus, Phase
from calve.server.dependencies import Json
from calve.state.backfill import backfill_stages, backfills
from calve.ui.addresses import backfill_address
from calve.ui.views.home.line import line, with_more

#: Older ones are found in the list of backfills.
_LOOK_BACK = 500


def waiting_backfills(connection: Connection) -> list[Json]:
    """Backfills that failed, and those with a stage that waits to be published; the newest first."""
    newest = select(backfills.c.id).order_by(backfills.c.id.desc()).limit(1).scalar_subquery()
    live = [BackfillStatus.FAILED.value, BackfillStatus.RUNNING.value, BackfillStatus.PAUSED.value]
    query = (
        select(
            backfills.c.id, backfills.c.workflow_id, backfills.c.status, backfills.c.auto_publish,
            backfills.c.ended_at, backfill_stages.c.workflow_id.label("stage"), backfill_stages.c.phase,
            backfill_stages.c.updated_at,
        )
        .join(backfill_stages, backfill_stages.c.backfill_id == backfills.c.id)
        .where(backfills.c.id > newest - _LOOK_BACK, backfills.c.status.in_(live))
        .order_by(backfills.c.id.desc(), backfill_stages.c.ordinal)
    )  # fmt: skip
    lines: dict[int, Json] = {}
    for row in connection.execute(query):
        if row.status == BackfillStatus.FAILED:
            why = f"The backfill of '{row.workflow_id}' failed: mend the cause and retry it, or cancel it."
            lines.setdefault(row.id, _told(row.id, "FAILED", why, row.ended_at))
        elif row.phase == Phase.WAITING and not row.auto_publish:
            why = f"What '{row.stage}' wrote is validated, and waits for somebody to publish it."
            lines.setdefault(row.id, _told(row.id, "WAITING", why, row.updated_at))
    return with_more(list(lines.values()), _more())


def _more() -> Json:
    why = "Further backfills failed, or wait for somebody."
    return line("WAITING", "More backfills", why, since=None, href="/backfills", act="All backfills")


def _told(backfill_id: int, status: str, why: str, since: int | None) -> Json:
    return line(
        status,
        f"Backfill {backfill_id}",
        why,
        since=since,
        href=backfill_address(backfill_id),
        act=f"Backfill {backfill_id}",
        command=f"calve backfill {'retry' if status == 'FAILED' else 'publish'} {backfill_id}",
    )
