"""Which workflows write a table."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from calve.backfill.lineage.graph import Lineage
from calve.backfill.lineage.loading import BACKFILL_PREFIX
from calve.state.batches import in_batches
from calve.state.schema import captures, target_tables
from calve.ui.views.captures.runs import run_of


def writers_of(connection: Connection, lineage: Lineage, tables: Sequence[str]) -> dict[str, list[str]]:
    """The workflows that write each table by their definitions, and the one that wrote it last.

    Copies that backfills push are none: what they write may be on a branch, and they end for good.
    """
    found = {table: set(lineage.writers(table)) for table in tables}
    for some in in_batches(tables):
        query = select(target_tables.c.target, captures.c.run_ref).join(
            captures, captures.c.id == target_tables.c.capture_id
        )
        for row in connection.execute(query.where(target_tables.c.target.in_(some))):
            run = run_of(row.run_ref)
            if run is not None and not is_backfill_copy(run["workflow_id"]):
                found[row.target].add(run["workflow_id"])
    return {table: sorted(names) for table, names in found.items()}


def is_backfill_copy(workflow_id: str) -> bool:
    """Whether a backfill pushed a workflow for itself."""
    return workflow_id.startswith(BACKFILL_PREFIX)
