"""Positions moved by hand: set to a snapshot, or forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, and_, insert, or_
from sqlalchemy.exc import IntegrityError

from calve.errors import NotFoundError, RefusedError
from calve.ledger.chain import Chain
from calve.ledger.records import CaptureRecord, Position, Status
from calve.ledger.rows import dump, read_open, read_positions
from calve.ledger.store import MovedError, Store
from calve.ledger.transact import (
    Positions,
    end_capture,
    lock_positions,
    position_ids,
    release_stretches,
    save_position,
)
from calve.state.clock import now_ms
from calve.state.schema import chains, position_events


@dataclass(frozen=True, slots=True)
class Place:
    """Whose position on what. A table that took over the name of another stands for both."""

    consumer: str
    table_name: str
    table_uuid: str | None  # None: there is no such table any more
    branch: str

    def matches(self) -> ColumnElement[bool]:
        """The positions that are meant."""
        same = chains.c.table_name == self.table_name
        if self.table_uuid is not None:
            same = or_(same, chains.c.table_uuid == self.table_uuid)
        return and_(chains.c.consumer == self.consumer, chains.c.branch == self.branch, same)


@dataclass(frozen=True, slots=True)
class Moving:
    """What moving a position did: the positions before it, and the captures it released."""

    before: tuple[Position, ...]
    released: tuple[CaptureRecord, ...]


def set_position(store: Store, place: Place, snapshot_id: int | None, *, force: bool, owner: str) -> Moving:
    """Account for everything up to a snapshot, and for nothing after it.

    Raises CAPTURES_OPEN unless `force`, which releases them.
    """
    return _until_unmoved(store, place, Chain(snapshot_id), force, owner)


def reset_position(store: Store, place: Place, *, force: bool, owner: str) -> Moving:
    """Forget a position: the next capture is a first one. The history of captures stays.

    Raises CHECKPOINT_NOT_FOUND, and CAPTURES_OPEN unless `force`, which releases them.
    """
    return _until_unmoved(store, place, None, force, owner)


def _until_unmoved(store: Store, place: Place, target: Chain | None, force: bool, owner: str) -> Moving:
    while True:
        try:
            with store.database.write() as connection:
                return _move(connection, place, target, force, owner)
        except (MovedError, IntegrityError):
            continue


def _move(connection: Connection, place: Place, target: Chain | None, force: bool, owner: str) -> Moving:
    met = {x.id: x for x in read_positions(connection, place.matches()) if x.id is not None}
    before = tuple(x for x in met.values() if x.known)
    if target is None and not before:
        raise _nothing_known(place)
    locked, open_captures = _lock_with_captures(connection, met)
    _refuse_busy(open_captures, force, place)
    for record in open_captures:
        locked = release_stretches(connection, record, locked)
        end_capture(connection, record, Status.RELEASED, {"reason": f"the checkpoint was moved by {owner}"})
    for position in [locked[i] for i in met if locked[i].known]:
        if target is None or position.table_uuid != place.table_uuid:
            _save(connection, replace(position, known=False, chain=Chain(), settled_at=None), owner, position)
    if target is not None:
        _set(connection, place, target, [locked[i] for i in met], owner)
    return Moving(before, tuple(open_captures))


def _lock_with_captures(connection: Connection, met: Positions) -> tuple[Positions, list[CaptureRecord]]:
    expected = read_open(connection, met)
    locked = lock_positions(connection, set(met).union(*map(position_ids, expected)))
    found = read_open(connection, met)
    if {x.id for x in found} - {x.id for x in expected}:
        raise MovedError
    return locked, found


def _set(connection: Connection, place: Place, target: Chain, met: Sequence[Position], owner: str) -> None:
    uuid = place.table_uuid or ""
    fresh = Position(
        None, 0, place.consumer, uuid, place.branch, place.table_name, False, Chain(), None, now_ms()
    )
    position = next((x for x in met if x.table_uuid == uuid), fresh)
    placed = replace(position, known=True, chain=target, table_name=place.table_name, settled_at=now_ms())
    _save(connection, placed, owner, position)


def _save(connection: Connection, position: Position, owner: str, before: Position) -> None:
    stored = save_position(connection, position)
    connection.execute(
        insert(position_events).values(
            chain_id=stored,
            action="set" if position.known else "reset",
            before=_describe(before),
            after=_describe(position),
            owner=owner,
            at=now_ms(),
        )
    )


def _describe(position: Position) -> str | None:
    if not position.known:
        return None
    return dump({"frontier": position.chain.frontier, "links": position.chain.to_json()})


def _refuse_busy(open_captures: Sequence[CaptureRecord], force: bool, place: Place) -> None:
    busy = [record.id for record in open_captures if not record.is_idle]
    if busy and not force:
        raise RefusedError(
            "CAPTURES_OPEN",
            f"consumer {place.consumer} has open captures on {place.table_name}: {', '.join(busy)}",
            "commit or release them, or give --force to release them now",
        )


def _nothing_known(place: Place) -> NotFoundError:
    return NotFoundError(
        "CHECKPOINT_NOT_FOUND",
        f"consumer {place.consumer} has no checkpoint on branch {place.branch} of {place.table_name}",
        "`calve checkpoint show` lists what there is",
    )
