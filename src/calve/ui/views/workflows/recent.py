"""The newest runs of some workflows, as sparklines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from calve.engine.model.statuses import RunStatus
from calve.server.dependencies import Json
from calve.state.orchestration import runs, workflows
from calve.ui.drawing.sparkline import draw_sparkline
from calve.ui.formats import duration, words

#: So many instances have a bar.
RECENT = 20
#: Told apart by a mark below the bar, not by colour alone.
_BAD = frozenset({RunStatus.FAILED.value, RunStatus.TIMED_OUT.value})


def recent_runs(connection: Connection, workflow_ids: Sequence[str], now_ms: int) -> dict[str, Json]:
    """A sparkline for each of some workflows, by id; those that never ran have none."""
    # Instances are numbered one after the other, so the newest ones are a range in the index of runs.
    query: Select[Any] = (
        select(
            runs.c.workflow_id,
            runs.c.instance_id,
            runs.c.status,
            runs.c.created_at,
            runs.c.started_at,
            runs.c.ended_at,
        )
        .join(workflows, workflows.c.workflow_id == runs.c.workflow_id)
        .where(
            workflows.c.workflow_id.in_(workflow_ids),
            runs.c.instance_id > workflows.c.latest_instance_id - RECENT,
            runs.c.latest,
        )
        .order_by(runs.c.workflow_id, runs.c.instance_id)
    )
    found: dict[str, list[Row[Any]]] = {}
    for row in connection.execute(query):
        found.setdefault(row.workflow_id, []).append(row)
    return {workflow_id: _sparkline(rows, now_ms) for workflow_id, rows in found.items()}


def blocked_workflows(connection: Connection, workflow_ids: Sequence[str]) -> set[str]:
    """Those of some workflows where a failed instance holds back the ones after it."""
    # As a bare column, which is how the partial index says it.
    query = select(runs.c.workflow_id).where(runs.c.workflow_id.in_(workflow_ids), runs.c.blocking)
    return set(connection.execute(query.distinct()).scalars())


def _sparkline(rows: Sequence[Row[Any]], now_ms: int) -> Json:
    spans = [_span(row, now_ms) for row in rows]
    drawn = draw_sparkline(spans, RECENT)
    return {
        "width": drawn.width,
        "height": drawn.height,
        "foot": drawn.foot,
        "label": _label(rows),
        "bars": [
            {
                **bar.to_json(),
                "instance_id": row.instance_id,
                "status": row.status,
                "is_bad": row.status in _BAD,
                "title": f"{row.instance_id}: {words(row.status)}, {duration(span)}",
            }
            for bar, row, span in zip(drawn.bars, rows, spans, strict=True)
        ],
    }


def _span(row: Row[Any], now_ms: int) -> int | None:
    if row.started_at is None:
        return None
    return max(int(row.ended_at or now_ms) - int(row.started_at), 0)


def _label(rows: Sequence[Row[Any]]) -> str:
    counts: Mapping[str, int] = {}
    for row in rows:
        counts = {**counts, row.status: counts.get(row.status, 0) + 1}
    return f"last {len(rows)} runs: " + ", ".join(f"{count} {words(name)}" for name, count in counts.items())
