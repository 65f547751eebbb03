"""Holds: consumers that a backfill serves itself wait while it publishes, before what it publishes.

    put_hold  ──▶  publish  ──▶  settle_hold

From `put_hold` on no capture of the consumer takes anything after the held snapshot: a capture that was
planned before is refused when it is reserved. `settle_hold` accounts for what was published, and takes the
hold away, in one transaction. So each snapshot is processed once, by the consumer or by the backfill.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from calve.errors import ConflictError
from calve.lake.metadata import TableMetadata
from calve.lake.model import Segment
from calve.ledger.rows import read_positions
from calve.ledger.transact import save_position
from calve.state.backfill import backfill_holds
from calve.state.clock import now_ms
from calve.state.schema import chains


@dataclass(frozen=True, slots=True)
class Hold:
    """A consumer captures nothing after a snapshot; None: the table had no snapshot."""

    consumer: str
    table_uuid: str
    branch: str
    backfill_id: int
    up_to_snapshot: int | None


def put_hold(
    connection: Connection,
    consumer: str,
    table_uuid: str,
    branch: str,
    backfill_id: int,
    up_to_snapshot: int | None,
) -> Hold:
    """Let a consumer capture nothing after a snapshot. The same backfill may move its hold.

    Once this is committed, read the head again before publishing: what came in between is not held.
    Raises BACKFILL_HOLD_TAKEN if another backfill has one there.
    """
    wanted = Hold(consumer, table_uuid, branch, backfill_id, up_to_snapshot)
    found = _find(connection, wanted, lock=True)
    if found is None:
        connection.execute(
            insert(backfill_holds).values(
                consumer=consumer,
                table_uuid=table_uuid,
                branch=branch,
                backfill_id=backfill_id,
                up_to_snapshot=up_to_snapshot,
            )
        )
        return wanted
    if found.backfill_id != backfill_id:
        raise ConflictError(
            "BACKFILL_HOLD_TAKEN",
            f"consumer {consumer} waits for backfill {found.backfill_id}, which publishes to the same table",
            f"publish or cancel backfill {found.backfill_id} first",
        )
    if found != wanted:
        connection.execute(update(backfill_holds).where(_is(wanted)).values(up_to_snapshot=up_to_snapshot))
    return wanted


def drop_hold(connection: Connection, consumer: str, table_uuid: str, branch: str, backfill_id: int) -> bool:
    """Take a hold away: the consumer processes what is there by itself. False if there was none."""
    wanted = Hold(consumer, table_uuid, branch, backfill_id, None)
    found = _find(connection, wanted, lock=True)
    if found is None or found.backfill_id != backfill_id:
        return False
    connection.execute(delete(backfill_holds).where(_is(wanted)))
    return True


def drop_holds_of(connection: Connection, backfill_id: int) -> None:
    """Take all holds of a backfill away: consumers process by themselves what it has published."""
    connection.execute(delete(backfill_holds).where(backfill_holds.c.backfill_id == backfill_id))


def settle_hold(
    connection: Connection,
    consumer: str,
    table_uuid: str,
    branch: str,
    backfill_id: int,
    published: Segment,
    metadata: TableMetadata,
) -> bool:
    """Account for what was published, and take the hold away. False if it is settled, or dropped, already.

    `published` is exactly what the backfill made: from the snapshot that its first one was put upon. What
    lies between the consumer's position and that stays unprocessed, and the next capture takes it.
    `metadata` is the table's, read after publishing. A consumer without a position has none afterwards.
    """
    here = and_(
        chains.c.consumer == consumer,
        chains.c.table_uuid == table_uuid,
        chains.c.branch == branch,
        chains.c.known,
    )
    # Positions before holds: as captures are reserved.
    positions = read_positions(connection, here, lock=True)
    if not drop_hold(connection, consumer, table_uuid, branch, backfill_id):
        return False
    for position in positions:
        stretch = _beyond(metadata, position.chain.end, published)
        if stretch is not None:
            chain = position.chain.account(stretch)
            save_position(connection, replace(position, chain=chain, settled_at=now_ms()))
    return True


def read_holds(connection: Connection, consumers: Iterable[str]) -> list[Hold]:
    """The holds on some consumers, in a fixed order."""
    wanted = sorted(set(consumers))
    if not wanted:
        return []
    query = (
        select(backfill_holds)
        .where(backfill_holds.c.consumer.in_(wanted))
        .order_by(backfill_holds.c.consumer, backfill_holds.c.table_uuid, backfill_holds.c.branch)
    )
    return [Hold(*row) for row in connection.execute(query)]


def hold_of(holds: Iterable[Hold], consumer: str, table_uuid: str, branch: str) -> Hold | None:
    """The one of some holds that is on a position."""
    wanted = (consumer, table_uuid, branch)
    return next((x for x in holds if (x.consumer, x.table_uuid, x.branch) == wanted), None)


def held_head(metadata: TableMetadata, branch: str, end: int | None, hold: Hold | None) -> int | None:
    """Up to where a consumer may capture whose chain ends at `end`; raises as `current_snapshot_id` does.

    That is the head of the branch, or the held snapshot if that comes first. It is `end`, so that there is
    nothing to capture, if the chain is past the hold, or if history was rewritten so that the held snapshot
    does not tell any more what comes before it.
    """
    head = metadata.current_snapshot_id(branch)
    if hold is None or head == hold.up_to_snapshot:
        return head
    held = hold.up_to_snapshot
    if _is_before(metadata, head, held):
        return head
    if not _is_before(metadata, held, head) or _is_before(metadata, held, end):
        return end
    return held


def _beyond(metadata: TableMetadata, end: int | None, published: Segment) -> Segment | None:
    """What of a published stretch lies beyond the end of a chain; None if nothing does."""
    start, to = published.from_snapshot_exclusive, published.to_snapshot_inclusive
    if start == to or end == to or _is_before(metadata, to, end):
        return None
    # Somebody has moved the checkpoint into the stretch by hand.
    is_inside = _is_before(metadata, start, end) and _is_before(metadata, end, to)
    return Segment(end, to) if is_inside else published


def _is_before(metadata: TableMetadata, older: int | None, newer: int | None) -> bool:
    """Whether one snapshot was made from another; None is the empty table."""
    if older is None or newer is None:
        return older is None and newer is not None
    return older != newer and metadata.is_ancestor(older, newer)


def _find(connection: Connection, wanted: Hold, *, lock: bool) -> Hold | None:
    query = select(backfill_holds).where(_is(wanted))
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None else Hold(*row)


def _is(hold: Hold) -> ColumnElement[bool]:
    return and_(
        backfill_holds.c.consumer == hold.consumer,
        backfill_holds.c.table_uuid == hold.table_uuid,
        backfill_holds.c.branch == hold.branch,
    )
