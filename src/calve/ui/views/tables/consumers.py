"""The consumers of a table: how far behind, what they hold, which workflow they belong to."""

from __future__ import annotations

from collections.abc import Sequence

from calve.backfill.lineage.graph import Lineage
from calve.ledger.lag import ConsumerLag
from calve.server.dependencies import Json


def show_consumers(table: str, lags: Sequence[ConsumerLag], lineage: Lineage) -> list[Json]:
    """Each position in the table with its lag."""
    workflows = {
        use.consumer: workflow_id
        for workflow_id in lineage.readers(table)
        for use in lineage.workflow(workflow_id).captures_of(table)
        if use.consumer is not None
    }
    return [
        {
            **lag.to_json(),
            "workflow_id": workflows.get(lag.position.consumer),
            "settled_at": lag.position.settled_at,
        }
        for lag in lags
    ]


def show_targets(table: str, lineage: Lineage) -> list[Json]:
    """What is made from a table, and by which workflow: one step downstream."""
    return [
        {"table": target, "workflow_id": workflow_id}
        for workflow_id in lineage.readers(table)
        for target in lineage.workflow(workflow_id).written_names
        if target != table
    ]
