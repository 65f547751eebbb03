"""The life of a capture in the state: reserved, ready, then committed, released or failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, false, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from calve.errors import CalveError, ConflictError
from calve.lake.lookback import Lookback
from calve.lake.model import Changes, Segment
from calve.ledger.abandoned import Stranded
from calve.ledger.asks import Source
from calve.ledger.extents import Extent
from calve.ledger.holds import Hold, hold_of, read_holds
from calve.ledger.options import CaptureOptions
from calve.ledger.records import CaptureRecord, Position, Status, request_json
from calve.ledger.rows import IS_OPEN, dump, read_captures, read_open, read_positions
from calve.ledger.transact import (
    Positions,
    commit_stretches,
    end_capture,
    insert_source,
    lock_positions,
    position_ids,
    release_stretches,
    require_capture,
    save_position,
)
from calve.ledger.writes import require_run, writes_of
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.schema import captures, chains, sources


class MovedError(Exception):
    """A position changed since it was read: read it again and start over."""


@dataclass(frozen=True, slots=True)
class NewCapture:
    """A capture to be reserved: for each table its position as it was read, with the chain that
    the stretches were chosen from. `supersedes` are idle captures whose place it takes, `abandoned`
    those of ended runs."""

    id: str
    consumer: str
    options: CaptureOptions
    sources: tuple[Source, ...]
    start_from: str | None
    owner: str
    run_ref: str | None
    takes: tuple[tuple[Position, tuple[Segment, ...]], ...]
    supersedes: tuple[CaptureRecord, ...] = ()
    abandoned: tuple[Stranded, ...] = ()
    lookback: tuple[Lookback, ...] = ()
    expires_at: int | None = None
    #: What each table was held by when the stretches were chosen.
    holds: tuple[Hold | None, ...] = ()
    #: Given if no position decides what is captured: then none is touched.
    extents: tuple[Extent, ...] = ()


class Store:
    """Reads and transactions of the ledger on a state database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def positions(self, *where: ColumnElement[bool]) -> list[Position]:
        """Known positions, by age."""
        with self.database.read() as connection:
            return read_positions(connection, chains.c.known, *where)

    def view(self, *where: ColumnElement[bool]) -> tuple[list[Position], list[CaptureRecord]]:
        """Positions, forgotten ones too, and the open captures on them, at one moment."""
        with self.database.read() as connection:
            found = read_positions(connection, *where)
            return found, read_open(connection, (x.id for x in found if x.id is not None))

    def holds(self, consumer: str) -> list[Hold]:
        """What keeps a consumer from capturing all there is."""
        with self.database.read() as connection:
            return read_holds(connection, [consumer])

    def capture(self, capture_id: str) -> CaptureRecord:
        """A capture by its id. Raises CAPTURE_NOT_FOUND."""
        with self.database.read() as connection:
            return require_capture(connection, capture_id)

    def open_captures(self) -> list[CaptureRecord]:
        """All open captures, by age."""
        with self.database.read() as connection:
            return read_captures(connection, IS_OPEN)

    def open_of(self, consumer: str) -> list[CaptureRecord]:
        """The open captures of a consumer, by age."""
        with self.database.read() as connection:
            return read_captures(connection, IS_OPEN, captures.c.consumer == consumer)

    def committed_of(self, consumer: str) -> list[CaptureRecord]:
        """The committed captures of a consumer, by age."""
        with self.database.read() as connection:
            committed = captures.c.status == Status.COMMITTED.value
            return read_captures(connection, committed, captures.c.consumer == consumer)

    def captures_of(self, run_prefixes: Sequence[str]) -> list[CaptureRecord]:
        """The captures whose `run_ref` begins with any of these, by age."""
        with self.database.read() as connection:
            named = [captures.c.run_ref.startswith(prefix, autoescape=True) for prefix in run_prefixes]
            found = read_captures(connection, or_(false(), *named))
        # Where the database does not tell upper from lower case, it finds too many.
        return [x for x in found if (x.run_ref or "").startswith(tuple(run_prefixes))]

    def undropped(self) -> list[CaptureRecord]:
        """Ended captures whose ICDC tables may still be there, those to be kept among them."""
        with self.database.read() as connection:
            ended = captures.c.status != Status.OPEN.value
            return read_captures(connection, captures.c.dropped_at.is_(None), ended)

    def reserve(self, new: NewCapture) -> CaptureRecord:
        """Give a capture its stretches. Raises `MovedError` if they are no longer free."""
        try:
            with self.database.write() as connection:
                return _reserve(connection, new)
        except IntegrityError as error:
            raise MovedError from error

    def adopt(
        self,
        stranded: Stranded,
        others: Sequence[Stranded],
        *,
        owner: str,
        run_ref: str | None,
        expires_at: int | None,
    ) -> CaptureRecord:
        """Give an abandoned capture to another run, and release others. `MovedError` if any of
        them is no longer as it was."""
        record = stranded.record
        with self.database.write() as connection:
            involved = position_ids(record).union(*(position_ids(x.record) for x in others))
            locked = lock_positions(connection, involved)
            _require_stranded(connection, stranded)
            _release_abandoned(connection, others, locked, f"capture {record.id} came first")
            values = {"owner": owner, "run_ref": run_ref, "expires_at": expires_at or record.expires_at}
            connection.execute(update(captures).where(captures.c.id == record.id).values(values))
            return require_capture(connection, record.id)

    def finish(self, capture_id: str, written: Sequence[Changes]) -> CaptureRecord:
        """Note what was written for a capture. If somebody else finished it, theirs stands.

        Raises CAPTURE_RELEASED or CAPTURE_COMMITTED if it ended meanwhile.
        """
        with self._locked(capture_id) as (connection, record, _):
            _require_open(record)
            if record.ready_at is None:
                _note_written(connection, capture_id, written)
            return require_capture(connection, capture_id)

    def describe_again(
        self, capture_id: str, written: Sequence[Changes], sources: Sequence[Source]
    ) -> CaptureRecord:
        """Note what is told about the changes of a capture under other aliases and range columns.

        Raises CAPTURE_RELEASED or CAPTURE_COMMITTED if it ended meanwhile.
        """
        with self._locked(capture_id) as (connection, record, _):
            _require_open(record)
            request = dump(request_json(record.options, record.start_from, sources))
            connection.execute(update(captures).where(captures.c.id == capture_id).values(request=request))
            _note_written(connection, capture_id, written)
            return require_capture(connection, capture_id)

    def fail(self, capture_id: str, error: Exception) -> bool:
        """Undo a reservation whose tables could not be written; false if it is ready or ended."""
        with self._locked(capture_id) as (connection, record, positions):
            if record.status is not Status.OPEN or record.ready_at is not None:
                return False
            for source in record.sources:
                # A position that only this capture made is forgotten with it.
                if (position := positions[source.position_id]).version == 1:
                    positions[source.position_id] = replace(position, known=False)
            release_stretches(connection, record, positions)
            end_capture(connection, record, Status.FAILED, _reason(error))
            return True

    def commit(self, capture_id: str, keep: bool, run_ref: str | None = None) -> CaptureRecord:
        """Account for a capture's changes; nothing more for one that is committed already.

        Raises CAPTURE_RELEASED, CAPTURE_TAKEN_OVER, CAPTURE_NOT_READY or CAPTURE_OVERLAP.
        """
        with self._locked(capture_id) as (connection, record, positions):
            if run_ref is not None:
                require_run(capture_id, record.run_ref, run_ref)
            if record.status is Status.COMMITTED:
                return record
            _require_open(record)
            if record.ready_at is None:
                raise ConflictError(
                    "CAPTURE_NOT_READY",
                    f"the tables of capture {capture_id} were never written, so nobody processed them",
                    "capture again to finish it, or release it",
                )
            commit_stretches(connection, record, positions)
            end_capture(connection, record, Status.COMMITTED, None, keep=keep)
            return require_capture(connection, capture_id)

    def release(self, capture_id: str, reason: str) -> CaptureRecord:
        """Give back a capture's changes; nothing more for one that holds none any more.

        Raises CAPTURE_COMMITTED.
        """
        with self._locked(capture_id) as (connection, record, positions):
            if record.status is Status.COMMITTED:
                raise ConflictError(
                    "CAPTURE_COMMITTED",
                    f"capture {capture_id} is committed, so it cannot be released",
                    "to process its changes again, move the checkpoint back with `calve checkpoint set`",
                )
            if record.status is Status.OPEN:
                release_stretches(connection, record, positions)
                end_capture(connection, record, Status.RELEASED, {"reason": reason})
            return require_capture(connection, capture_id)

    def note_dropped(self, capture_id: str) -> None:
        """Remember that the ICDC tables of a capture are gone."""
        with self.database.write() as connection:
            connection.execute(
                update(captures).where(captures.c.id == capture_id).values(dropped_at=now_ms())
            )

    @contextmanager
    def _locked(self, capture_id: str) -> Iterator[tuple[Connection, CaptureRecord, Positions]]:
        with self.database.write() as connection:
            # What a capture has does not change; its status is read again under the lock.
            positions = lock_positions(connection, position_ids(require_capture(connection, capture_id)))
            yield connection, require_capture(connection, capture_id), positions


def _reserve(connection: Connection, new: NewCapture) -> CaptureRecord:
    involved = {position.id for position, _ in new.takes if position.id is not None}
    released = (*new.supersedes, *(x.record for x in new.abandoned))
    locked = lock_positions(connection, involved.union(*map(position_ids, released)))
    for position, _ in new.takes:
        if position.id is not None and locked[position.id].version != position.version:
            raise MovedError
    _require_holds(connection, new)
    for old in new.supersedes:
        if require_capture(connection, old.id).status is not Status.OPEN:
            raise MovedError
        locked = release_stretches(connection, old, locked)
        end_capture(connection, old, Status.RELEASED, {"reason": f"superseded by {new.id}"})
    locked = _release_abandoned(connection, new.abandoned, locked, f"its changes are in {new.id}")
    _insert_capture(connection, new)
    for ordinal, (position, segments) in enumerate(new.takes):
        version = position.version if position.id is None else locked[position.id].version
        held = replace(position, version=version)
        if not new.extents:
            held = replace(held, chain=position.chain.hold(new.id, segments), known=True)
        stored = replace(held, id=save_position(connection, held))
        insert_source(connection, new.id, ordinal, stored, segments)
    return require_capture(connection, new.id)


def _require_holds(connection: Connection, new: NewCapture) -> None:
    """Raise `MovedError` if a hold was put or taken away since the stretches were chosen."""
    if new.extents:
        return
    found = read_holds(connection, [new.consumer])
    for (position, _), seen in zip(new.takes, new.holds, strict=True):
        if hold_of(found, position.consumer, position.table_uuid, position.branch) != seen:
            raise MovedError


def _release_abandoned(
    connection: Connection, abandoned: Sequence[Stranded], locked: Positions, why: str
) -> Positions:
    """Release captures of ended runs; the positions as they are then."""
    for stranded in abandoned:
        _require_stranded(connection, stranded)
        record = stranded.record
        locked = release_stretches(connection, record, locked)
        reason = f"its run {record.run_ref} ended without a commit; {why}"
        end_capture(connection, record, Status.RELEASED, {"reason": reason})
    return locked


def _require_stranded(connection: Connection, stranded: Stranded) -> None:
    """Raise `MovedError` if a capture has another owner now, has ended, or has written more."""
    record = stranded.record
    query = select(captures.c.status, captures.c.run_ref, captures.c.owner).where(captures.c.id == record.id)
    # Under the lock no statement can begin: see `note_begun` and `hold_capture`.
    found = connection.execute(query.with_for_update()).one()
    unchanged = (Status.OPEN.value, record.run_ref, record.owner)
    if tuple(found) != unchanged or writes_of(connection, record.id) != stranded.writes:
        raise MovedError


def _insert_capture(connection: Connection, new: NewCapture) -> None:
    connection.execute(
        insert(captures).values(
            id=new.id,
            consumer=new.consumer,
            status=Status.OPEN.value,
            request=dump(request_json(new.options, new.start_from, new.sources, new.extents)),
            owner=new.owner,
            run_ref=new.run_ref,
            keep=False,
            created_at=now_ms(),
            expires_at=new.expires_at,
            lookback=dump([x.to_json() for x in new.lookback]) if new.lookback else None,
        )
    )


def _note_written(connection: Connection, capture_id: str, written: Sequence[Changes]) -> None:
    connection.execute(update(captures).where(captures.c.id == capture_id).values(ready_at=now_ms()))
    for ordinal, changes in enumerate(written):
        this = (sources.c.capture_id == capture_id, sources.c.ordinal == ordinal)
        connection.execute(update(sources).where(*this).values(result=dump(changes.to_json())))


def _require_open(record: CaptureRecord) -> None:
    if record.status is Status.OPEN:
        return
    reason = (
        (record.outcome or {}).get("reason") or (record.outcome or {}).get("message") or "no reason given"
    )
    raise ConflictError(
        "CAPTURE_RELEASED" if record.status is not Status.COMMITTED else "CAPTURE_COMMITTED",
        f"capture {record.id} is {record.status.value}: {reason}",
        "capture again; its changes are in the next capture",
    )


def _reason(error: Exception) -> dict[str, str]:
    if isinstance(error, CalveError):
        return error.to_json()
    return {"code": "INTERNAL", "message": f"{type(error).__name__}: {error}", "remedy": "capture again"}
