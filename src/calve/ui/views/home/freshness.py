"""When each target table was last written, as far as Calve knows it, and up to when it is complete."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from calve.backfill.lineage.graph import Lineage
from calve.engine.signals.watermarks import moments_of
from calve.server.dependencies import Json
from calve.state.schema import captures, target_tables
from calve.ui.views.captures.runs import run_of
from calve.ui.views.tables.freshness import UNKNOWN, fresh_tables
from calve.ui.views.tables.writers import is_backfill_copy

_SHOWN = 25
_NOBODY: Json = {"workflow_id": None, "instance_id": None, "is_backfill": False}


def freshness(connection: Connection, lineage: Lineage, now: int) -> Json:
    """The tables that were written under captures, those that were not for longest first."""
    query = (
        select(target_tables.c.target, target_tables.c.landed_at, captures.c.run_ref)
        .join(captures, captures.c.id == target_tables.c.capture_id)
        .order_by(target_tables.c.landed_at, target_tables.c.target)
        .limit(_SHOWN)
    )
    shown = connection.execute(query).all()
    names = [row.target for row in shown]
    complete = moments_of(connection, names)
    fresh = fresh_tables(connection, lineage, names, now)
    return {
        "total": connection.execute(select(func.count()).select_from(target_tables)).scalar_one(),
        "tables": [
            {
                "table": row.target,
                "written_at": row.landed_at,
                **_writer(row.run_ref),
                "freshness": None if fresh[row.target] == UNKNOWN else fresh[row.target].to_json(),
                "valid_through": complete.get(row.target),
            }
            for row in shown
        ],
    }


def _writer(run_ref: str | None) -> Json:
    run = run_of(run_ref)
    if run is None:
        return _NOBODY
    # What a backfill writes may be on a branch, where readers do not see it yet.
    is_backfill = is_backfill_copy(run["workflow_id"])
    return {"workflow_id": run["workflow_id"], "instance_id": run["instance_id"], "is_backfill": is_backfill}
