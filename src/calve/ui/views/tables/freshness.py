"""How fresh workflows and their tables are, from the state alone: no catalog is asked.

LATE    the latest run failed, or something waits for longer than it should
STALE   something waits, or is being processed
FRESH   the latest run succeeded, and nothing is known to wait
NONE    it never ran, or no workflow writes the table
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, select

from calve.backfill.lineage.graph import Lineage
from calve.engine.model.statuses import RunStatus
from calve.engine.triggers.tables.decision import What
from calve.state.batches import in_batches
from calve.state.orchestration import incremental_triggers, runs, time_triggers, workflows
from calve.ui.views.tables.lateness import is_overdue, late_changes, late_schedule
from calve.ui.views.tables.writers import writers_of

_ORDER = ("NONE", "FRESH", "STALE", "LATE")
_WORDS = {
    RunStatus.CREATED: "is queued",
    RunStatus.IN_PROGRESS: "is in progress",
    RunStatus.FAILED: "failed",
    RunStatus.TIMED_OUT: "timed out",
    RunStatus.STOPPED: "was stopped",
}
_LATEST: Select[Any] = (
    select(workflows.c.workflow_id, runs.c.status, runs.c.instance_id)
    .outerjoin(
        runs,
        and_(
            runs.c.workflow_id == workflows.c.workflow_id,
            runs.c.instance_id == workflows.c.latest_instance_id,
            runs.c.latest,
        ),
    )
)  # fmt: skip
_T = incremental_triggers


@dataclass(frozen=True, slots=True)
class Freshness:
    """How fresh, and why."""

    status: str
    why: str

    def to_json(self) -> dict[str, str]:
        """For a page and its twin."""
        return {"status": self.status, "why": self.why}


UNKNOWN = Freshness("NONE", "no workflow writes it")
_NEVER = Freshness("NONE", "it never ran")


def worst(found: Iterable[Freshness]) -> Freshness:
    """The least fresh of several; a table is as fresh as the workflows that write it."""
    return max(found, key=lambda one: _ORDER.index(one.status), default=UNKNOWN)


def fresh_tables(
    connection: Connection, lineage: Lineage, tables: Sequence[str], now: int
) -> dict[str, Freshness]:
    """How fresh each of some tables is."""
    writers = writers_of(connection, lineage, tables)
    ids = sorted({workflow for found in writers.values() for workflow in found})
    fresh = fresh_workflows(connection, ids, now)
    return {table: worst(fresh[x] for x in found if x in fresh) for table, found in writers.items()}


def fresh_workflows(connection: Connection, ids: Sequence[str], now: int) -> dict[str, Freshness]:
    """How fresh each of some workflows is; three queries for a batch of them."""
    found: dict[str, Freshness] = {}
    for some in in_batches(ids):
        found |= _fresh(connection, some, now)
    return found


def _fresh(connection: Connection, ids: Sequence[str], now: int) -> dict[str, Freshness]:
    told: dict[str, list[Freshness]] = {}
    for row in connection.execute(_LATEST.where(workflows.c.workflow_id.in_(ids))):
        told[row.workflow_id] = [_of_run(row)]
    for row in connection.execute(select(_T).where(_T.c.workflow_id.in_(ids), _T.c.active)):
        if row.workflow_id in told:
            told[row.workflow_id] += _of_table_trigger(row, now)
    overdue = select(time_triggers).where(time_triggers.c.workflow_id.in_(ids), is_overdue(now))
    for row in connection.execute(overdue):
        if row.workflow_id in told:
            told[row.workflow_id].append(Freshness("LATE", late_schedule(row.next_at, now)))
    return {workflow_id: worst(reasons) for workflow_id, reasons in told.items()}


def _of_run(row: Row[Any]) -> Freshness:
    if row.status is None:
        return _NEVER
    status, instance = RunStatus(row.status), f"instance {row.instance_id}"
    if status is RunStatus.SUCCEEDED:
        return Freshness("FRESH", f"{instance} succeeded")
    is_late = status.is_terminal and status is not RunStatus.STOPPED
    return Freshness("LATE" if is_late else "STALE", f"{instance} {_WORDS[status]}")


def _of_table_trigger(row: Row[Any], now: int) -> list[Freshness]:
    decision: Mapping[str, Any] = {} if row.decision is None else json.loads(row.decision)
    what, why = decision.get("what"), str(decision.get("why", ""))
    if what in (What.HELD, What.ERROR):
        return [Freshness("LATE", why)]
    if what != What.WAITING:
        return []
    late = late_changes(row, decision, now)
    return [Freshness("STALE", why) if late is None else Freshness("LATE", late)]
