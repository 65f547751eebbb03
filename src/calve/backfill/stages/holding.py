"""Consumers downstream that later stages serve: they see nothing of what is being published."""

from __future__ import annotations

from sqlalchemy import Connection

from calve.backfill.stages.work import Work
from calve.backfill.statuses import refusal
from calve.backfill.store import read_backfill
from calve.lake import SourceTable
from calve.lake.commits import MAIN
from calve.ledger.holds import put_hold


def hold_consumers(work: Work, table: SourceTable) -> None:
    """Let the served consumers of a table see nothing after its head. Raises BACKFILL_CANCELLED."""
    head = table.metadata.current_snapshot_id(MAIN)
    served = [consumer for consumer, name in work.stage.plan.served if name == str(table.name)]
    with work.orchestrator.database.write() as connection:
        refuse_cancelled(connection, work)
        for consumer in served:
            put_hold(connection, consumer, table.uuid, MAIN, work.backfill.id, head)


def refuse_cancelled(connection: Connection, work: Work) -> None:
    """To be called before a hold is put. Raises BACKFILL_CANCELLED: who cancels frees all consumers, and
    nobody would do so again."""
    status = read_backfill(connection, work.backfill.id, lock=True).status
    if status.is_over:
        raise refusal(work.backfill.id, status, "published")
