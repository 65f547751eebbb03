"""Backfills in a list, each with how far it is."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, select

from calve.backfill.statuses import BackfillStatus, Phase
from calve.engine.model.statuses import RunStatus
from calve.engine.views.pages import PageRequest, read_page
from calve.server.dependencies import Json
from calve.state.backfill import backfill_chunks, backfill_stages, backfills
from calve.state.orchestration import runs

_LIVE = (BackfillStatus.RUNNING, BackfillStatus.PAUSED, BackfillStatus.FAILED)


def backfills_page(connection: Connection, asked: PageRequest) -> Json:
    """A page of backfills, the newest first."""

    def show(rows: Sequence[Row[Any]]) -> list[Json]:
        phases = _phases(connection, [row.id for row in rows])
        chunks = _chunks(connection, [row.id for row in rows if row.status in _LIVE])
        return [_entry(row, phases[row.id], chunks.get(row.id)) for row in rows]

    page = read_page(connection, select(backfills), backfills.c.id, asked, show)
    info = page["page_info"]
    return {
        "backfills": page["elements"],
        "newer": f"/backfills?newer={info['start_cursor']}" if info["has_previous_page"] else None,
        "older": f"/backfills?older={info['end_cursor']}" if info["has_next_page"] else None,
    }


def plan_head(text: str) -> Json:
    """The beginning of a plan as it is kept: its range, without the stages, which may be long.

    A quote within a text is escaped, so that the key of `params` is where it seems to be.
    """
    found: Json = json.loads(text[: text.index(',"params":')] + "}")
    return found


def _entry(row: Row[Any], phases: Sequence[str], chunks: Json | None) -> Json:
    head = plan_head(row.plan)
    waits = Phase.WAITING in phases and not BackfillStatus(row.status).is_over
    return {
        "backfill_id": row.id,
        "status": row.status,
        "waits": waits and not row.auto_publish,
        "workflow_id": row.workflow_id,
        "column": head["column"],
        "from": head["lower"],
        "to": head["upper"],
        "reason": row.reason,
        "author": row.author,
        "stages_published": phases.count(Phase.PUBLISHED),
        "stages": len(phases),
        "chunks": chunks,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
    }


def _phases(connection: Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    query = select(backfill_stages.c.backfill_id, backfill_stages.c.phase).where(
        backfill_stages.c.backfill_id.in_(ids)
    )
    found: dict[int, list[str]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.backfill_id].append(row.phase)
    return found


def _chunks(connection: Connection, ids: Sequence[int]) -> dict[int, Json]:
    """How many chunks of backfills under way are done; of one that was written again the newest round."""
    if not ids:
        return {}
    run = and_(
        runs.c.workflow_id == backfill_chunks.c.chunk_workflow,
        runs.c.instance_id == backfill_chunks.c.instance_id,
        runs.c.latest,
    )
    query = (
        select(
            backfill_chunks.c.backfill_id, backfill_chunks.c.stage, backfill_chunks.c.ordinal, runs.c.status
        )
        .select_from(backfill_chunks.outerjoin(runs, run))
        .where(backfill_chunks.c.backfill_id.in_(ids))
        .order_by(backfill_chunks.c.backfill_id, backfill_chunks.c.round)
    )  # fmt: skip
    newest = {
        (row.backfill_id, row.stage, row.ordinal): row.status == RunStatus.SUCCEEDED
        for row in connection.execute(query)
    }
    totals = Counter(key[0] for key in newest)
    done = Counter(key[0] for key, is_done in newest.items() if is_done)
    return {number: {"done": done[number], "total": total} for number, total in totals.items()}
