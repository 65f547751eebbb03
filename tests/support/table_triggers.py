"""An engine that looks at tables often, and tables for it to look at."""

from __future__ import annotations

import json
from typing import Any

from calve.engine.triggers.tables.decision import What
from calve.ledger.ledger import Ledger
from calve.state.orchestration import incremental_triggers, runs
from support.engine_runs import EngineRuns, Job, Run
from support.ledgers import make_ledger

#: As a setting takes it.
OFTEN = "PT0.1S"
RARELY = "10m"


def ledger_of(calve: EngineRuns) -> Ledger:
    """The ledger on the state and the lake of an engine."""
    return make_ledger(calve.settings.home, calve.database.url)


def capture(*tables: str, id: str = "capture", **options: Any) -> Job:
    """A capture step."""
    return {"job": {"id": id, "type": "IpCapture", "ip_capture": {"source_tables": list(tables), **options}}}


COMMIT: Job = {"job": {"id": "commit", "type": "IpCommit"}}


def decision(calve: EngineRuns, workflow_id: str = "w") -> dict[str, Any]:
    """What the last look at the one trigger of a workflow led to."""
    for row in calve.rows(incremental_triggers):
        if row.workflow_id == workflow_id and row.decision is not None:
            found: dict[str, Any] = json.loads(row.decision)
            return found
    return {}


def until_decided(calve: EngineRuns, what: What, workflow_id: str = "w") -> dict[str, Any]:
    """The decision, once it is that."""
    return calve.until(
        lambda: found if (found := decision(calve, workflow_id)).get("what") == what else None,
        lambda: f"not {what}: {decision(calve, workflow_id)}",
    )


def instances(calve: EngineRuns, workflow_id: str = "w") -> list[Run]:
    """The runs of a workflow, in their order."""
    return [calve.look(row.id) for row in calve.rows(runs) if row.workflow_id == workflow_id]


def until_over(calve: EngineRuns, count: int, workflow_id: str = "w") -> list[Run]:
    """The runs of a workflow, once there are so many and all are over."""

    def look() -> list[Run] | None:
        found = instances(calve, workflow_id)
        over = [run for run in found if run.status not in ("CREATED", "IN_PROGRESS")]
        return found if len(over) == len(found) >= count else None

    return calve.until(look, lambda: f"not {count} over: {[run.status for run in instances(calve)]}")
