"""Which state of its sources a stage reads."""

from __future__ import annotations

from typing import Any

from calve.backfill.plan import Feeding, SourcePlan
from calve.backfill.stages.inputs import changed_inputs
from calve.backfill.stages.work import Work
from calve.lake import SourceTable, open_table


def pin_sources(work: Work) -> dict[str, dict[str, Any]]:
    """What each source gives to every chunk, but for the chunk's bounds."""
    published = changed_inputs(work)
    pins = {}
    for source in work.stage.plan.sources:
        table = open_table(work.ledger.lake, source.table)
        stretch = published.get(source.table)
        if work.stage.plan.feeding is Feeding.NET:
            # What no earlier stage published has not changed: from its newest state to that same one.
            head = table.metadata.current_snapshot_id("main")
            start, end = stretch or (head, head)
            pins[source.table] = _net(start, end)
        elif source.column is None:
            head = table.metadata.current_snapshot_id("main")
            pins[source.table] = _net(head, head)
        else:
            snapshot = stretch[1] if stretch else _accounted(work, source, table)
            pins[source.table] = {"kind": "range", "column": source.column, "snapshot_id": snapshot}
    return pins


def _net(start: int | None, end: int | None) -> dict[str, Any]:
    return {"kind": "net", "from_snapshot_exclusive": start, "to_snapshot_inclusive": end}


def _accounted(work: Work, source: SourcePlan, table: SourceTable) -> int | None:
    """The state up to which the regular consumer has taken the table, so that neither of the two takes rows
    that are the other's; the newest one if there is no regular consumer."""
    head = table.metadata.current_snapshot_id("main")
    reached = work.ledger.accounted_up_to(source.consumer, source.table)
    if reached is None:
        return head
    if not table.metadata.has_snapshot(reached):
        work.say(
            f"{source.table}: the state that {source.consumer} is at has expired; the newest one is read"
        )
        return head
    return reached
