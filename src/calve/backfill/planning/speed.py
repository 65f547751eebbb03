"""How fast a workflow was so far."""

from __future__ import annotations

from sqlalchemy import select

from calve.engine.model.statuses import RunStatus
from calve.ledger.ledger import Ledger
from calve.state.orchestration import runs

_LOOKED_AT = 20
_MS = 1000


def rows_per_second(ledger: Ledger, workflow_id: str) -> float | None:
    """The rows that the newest runs captured, by the time they took; None where there were none."""
    query = (
        select(runs.c.instance_id, runs.c.started_at, runs.c.ended_at)
        .where(
            runs.c.workflow_id == workflow_id,
            runs.c.status == RunStatus.SUCCEEDED.value,
            runs.c.started_at.is_not(None),
        )
        .order_by(runs.c.id.desc())
        .limit(_LOOKED_AT)
    )
    with ledger.database.read() as connection:
        took = {row.instance_id: row.ended_at - row.started_at for row in connection.execute(query)}
    if not took:
        return None
    found = ledger.captures_of_instances([(workflow_id, instance) for instance in took])
    rows, busy = 0, 0
    for record in found:
        instance = int((record.run_ref or "//").split("/")[-2])
        records = sum(changes.records for changes in record.changes)
        if records:
            rows += records
            busy += took.pop(instance, 0)
    return rows / (busy / _MS) if busy else None
