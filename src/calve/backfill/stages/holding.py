"""Consumers downstream that the backfill serves itself: held while it publishes, accounted for afterwards."""

from __future__ import annotations

from sqlalchemy import Connection

from calve.backfill.stages.work import Work
from calve.backfill.statuses import BackfillStatus, require_move
from calve.backfill.store import read_backfill
from calve.lake import Segment, SourceTable
from calve.ledger.holds import drop_hold, put_hold, settle_hold

_MAIN = "main"


def hold_consumers(work: Work, table: SourceTable) -> None:
    """Let the served consumers of a table see nothing after its newest snapshot.

    Raises BACKFILL_CANCELLED: who cancels frees the consumers, and nobody would do so again.
    """
    head = table.metadata.current_snapshot_id(_MAIN)
    with work.orchestrator.database.write() as connection:
        status = read_backfill(connection, work.backfill.id, lock=True).status
        require_move(work.backfill.id, status, BackfillStatus.DONE, "published")
        for consumer in _consumers(work, table):
            put_hold(connection, consumer, table.uuid, _MAIN, work.backfill.id, head)


def settle_consumers(connection: Connection, work: Work, table: SourceTable, published: Segment) -> None:
    """Account for what was published; `table` is as it is after that."""
    for consumer in _consumers(work, table):
        settle_hold(connection, consumer, table.uuid, _MAIN, work.backfill.id, published, table.metadata)


def free_consumers(work: Work, table: SourceTable) -> None:
    """Nothing will be published: the consumers see all there is again."""
    with work.orchestrator.database.write() as connection:
        for consumer in _consumers(work, table):
            drop_hold(connection, consumer, table.uuid, _MAIN, work.backfill.id)


def _consumers(work: Work, table: SourceTable) -> list[str]:
    return [consumer for consumer, name in work.stage.plan.served if name == str(table.name)]
