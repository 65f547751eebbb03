"""The moves that the ledger's transactions are made of.

Every transaction that changes something locks the positions it touches first, always in the
same order, and only then looks at the captures: two of them never wait for each other in a
circle, and what is read under the lock stays true until the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, insert, update

from calve.errors import ConflictError, NotFoundError
from calve.lake.model import Segment
from calve.ledger.chain import NotHeldError
from calve.ledger.records import CaptureRecord, Position, Status
from calve.ledger.rows import dump, read_capture, read_positions, segments_json
from calve.state.clock import now_ms
from calve.state.schema import captures, chains, sources

Positions = dict[int, Position]


def lock_positions(connection: Connection, ids: Iterable[int]) -> Positions:
    """The positions of these ids, which nobody else changes until the transaction ends."""
    found = read_positions(connection, chains.c.id.in_(sorted(set(ids))), lock=True)
    return {x.id: x for x in found if x.id is not None}


def position_ids(record: CaptureRecord) -> set[int]:
    """The positions that a capture has stretches of."""
    return {source.position_id for source in record.sources}


def require_capture(connection: Connection, capture_id: str) -> CaptureRecord:
    """A capture by its id. Raises CAPTURE_NOT_FOUND."""
    record = read_capture(connection, capture_id)
    if record is None:
        raise NotFoundError(
            "CAPTURE_NOT_FOUND",
            f"there is no capture {capture_id}",
            "check the id; `calve checkpoint show` lists the open captures",
        )
    return record


def save_position(connection: Connection, position: Position) -> int:
    """Write a position as its next version; the id under which it is stored."""
    values: dict[str, Any] = {
        "table_name": position.table_name,
        "known": position.known,
        "frontier": position.chain.frontier,
        "links": dump(position.chain.to_json()),
        "settled_at": position.settled_at,
        "updated_at": now_ms(),
        "version": position.version + 1,
    }
    if position.id is not None:
        connection.execute(update(chains).where(chains.c.id == position.id).values(values))
        return position.id
    keys = {"consumer": position.consumer, "table_uuid": position.table_uuid, "branch": position.branch}
    made = connection.execute(insert(chains).values({**keys, **values}).returning(chains.c.id))
    return int(made.scalar_one())


def insert_source(
    connection: Connection, capture_id: str, ordinal: int, position: Position, segments: Sequence[Segment]
) -> None:
    """Note a table of a capture; `position` is a stored one."""
    connection.execute(
        insert(sources).values(
            capture_id=capture_id,
            ordinal=ordinal,
            chain_id=position.id,
            table_name=position.table_name,
            table_uuid=position.table_uuid,
            branch=position.branch,
            segments=segments_json(segments),
        )
    )


def commit_stretches(connection: Connection, record: CaptureRecord, positions: Positions) -> None:
    """Account for everything a capture has. Raises CAPTURE_OVERLAP if it has lost any of it."""
    for source in () if record.is_fixed else record.sources:
        position = positions[source.position_id]
        try:
            chain = position.chain.commit(record.id, source.segments)
        except NotHeldError as error:
            raise ConflictError(
                "CAPTURE_OVERLAP",
                f"capture {record.id} no longer holds its stretch of {source.table_name}: {error}",
                "nothing was committed; release the capture and capture again",
            ) from error
        save_position(connection, replace(position, chain=chain, known=True, settled_at=now_ms()))


def release_stretches(connection: Connection, record: CaptureRecord, positions: Positions) -> Positions:
    """Give back everything a capture has; the positions as they are then."""
    after = dict(positions)
    for source in () if record.is_fixed else record.sources:
        position = after[source.position_id]
        changed = replace(position, chain=position.chain.release(record.id, source.segments))
        save_position(connection, changed)
        after[source.position_id] = replace(changed, version=position.version + 1)
    return after


def end_capture(
    connection: Connection, record: CaptureRecord, status: Status, outcome: Any, **values: Any
) -> None:
    """Close an open capture for good. One that wrote nothing has nothing to be dropped."""
    now = now_ms()
    values[f"{status.value}_at"] = now
    if record.ready_at is None:
        values["dropped_at"] = now
    change = {"status": status.value, "outcome": dump(outcome), **values}
    connection.execute(update(captures).where(captures.c.id == record.id).values(change))
