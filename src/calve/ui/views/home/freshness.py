"""When each target table was last written, as far as Calve knows it, and up to when it is complete."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from calve.backfill.lineage.loading import BACKFILL_PREFIX
from calve.engine.signals.watermarks import moments_of
from calve.server.dependencies import Json
from calve.state.schema import captures, target_tables
from calve.ui.views.captures.runs import run_of
from calve.ui.views.tables.freshness import fresh_workflows

_SHOWN = 25
_NOBODY: Json = {"workflow_id": None, "instance_id": None, "is_backfill": False}


def freshness(connection: Connection, now: int) -> Json:
    """The tables that were written under captures, those that were not for longest first."""
    query = (
        select(target_tables.c.target, target_tables.c.landed_at, captures.c.run_ref)
        .join(captures, captures.c.id == target_tables.c.capture_id)
        .order_by(target_tables.c.landed_at, target_tables.c.target)
        .limit(_SHOWN)
    )
    shown = connection.execute(query).all()
    complete = moments_of(connection, [row.target for row in shown])
    writers = [_writer(row.run_ref) for row in shown]
    known = {writer["workflow_id"] for writer in writers if writer["workflow_id"] is not None}
    fresh = fresh_workflows(connection, sorted(known), now)
    return {
        "total": connection.execute(select(func.count()).select_from(target_tables)).scalar_one(),
        "tables": [
            {
                "table": row.target,
                "written_at": row.landed_at,
                **writer,
                "freshness": found.to_json() if (found := fresh.get(writer["workflow_id"])) else None,
                "valid_through": complete.get(row.target),
            }
            for row, writer in zip(shown, writers, strict=True)
        ],
    }


def _writer(run_ref: str | None) -> Json:
    run = run_of(run_ref)
    if run is None:
        return _NOBODY
    # What a backfill writes may be on a branch, where readers do not see it yet.
    is_backfill = run["workflow_id"].startswith(BACKFILL_PREFIX)
    return {"workflow_id": run["workflow_id"], "instance_id": run["instance_id"], "is_backfill": is_backfill}
