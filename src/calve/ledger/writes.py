"""What statements under a capture write: noted before they begin, and when they have landed.

The same marker stands in the summary of the target's snapshot, where it is found even if the
process died before it could note anything here; here it stays when that snapshot expires.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from calve.errors import CalveError, ConflictError
from calve.lake import Lake, open_table
from calve.lake.metadata import Snapshot
from calve.ledger.targets import settle_target
from calve.spark.once.scope import STATEMENT_PROPERTY, read_marker
from calve.state.clock import now_ms
from calve.state.schema import capture_writes, captures

_NOTHING_THERE = {"TABLE_NOT_FOUND", "TABLE_NOT_ICEBERG"}


@dataclass(frozen=True, slots=True)
class Write:
    """A statement under a capture. `snapshot_id` None: it has not landed, as far as is known here."""

    capture_id: str
    statement: str
    target: str
    text_hash: str
    begun_at: int
    snapshot_id: int | None
    landed_at: int | None

    @property
    def marker(self) -> str:
        """What the summary of the target's snapshot says of it."""
        return marker_of(self.capture_id, self.statement)


def marker_of(capture_id: str, statement: str) -> str:
    """The marker of a statement under a capture."""
    return f"{capture_id}/{statement}"


def note_begun(
    connection: Connection,
    capture_id: str,
    statement: str,
    target: str,
    text_hash: str,
    run_ref: str | None = None,
) -> None:
    """Note that a statement is about to write. A second time changes nothing.

    Nothing may begin under a capture that was given back or taken over: raises CAPTURE_NOT_OPEN,
    and, with a `run_ref`, CAPTURE_TAKEN_OVER.
    """
    _require_usable(connection, capture_id, run_ref)
    this = (capture_writes.c.capture_id == capture_id, capture_writes.c.statement == statement)
    if connection.execute(select(capture_writes.c.statement).where(*this)).first() is None:
        connection.execute(
            insert(capture_writes).values(
                capture_id=capture_id,
                statement=statement,
                target=target,
                text_hash=text_hash,
                begun_at=now_ms(),
            )
        )


def hold_capture(connection: Connection, capture_id: str, run_ref: str | None, owner: str) -> None:
    """Say which run is about to write under a capture, also where it cannot tell what yet.

    Who has found the capture abandoned before that looks again. Raises as `note_begun` does.
    """
    _require_usable(connection, capture_id, run_ref)
    connection.execute(update(captures).where(captures.c.id == capture_id).values(owner=owner))


def _require_usable(connection: Connection, capture_id: str, run_ref: str | None) -> None:
    # The lock holds off whoever is just looking for writes, to release or to take over the capture.
    query = select(captures.c.status, captures.c.run_ref).where(captures.c.id == capture_id)
    found = connection.execute(query.with_for_update()).first()
    if found is None or found.status != "open":
        state = "not there" if found is None else found.status
        raise ConflictError(
            "CAPTURE_NOT_OPEN",
            f"capture {capture_id} is {state}, so nothing may be written under it",
            "capture again",
        )
    if run_ref is not None:
        require_run(capture_id, found.run_ref, run_ref)


def require_run(capture_id: str, owner: str | None, run_ref: str) -> None:
    """Raise CAPTURE_TAKEN_OVER if a capture belongs to another run."""
    if owner != run_ref:
        raise ConflictError(
            "CAPTURE_TAKEN_OVER",
            f"capture {capture_id} belongs to run {owner}, not to {run_ref}",
            "nothing was done here; the run that has it now goes on with it",
        )


def note_landed(
    connection: Connection, capture_id: str, statement: str, snapshot_id: int, text_hash: str | None = None
) -> None:
    """Note that a statement that was begun has landed, and with which text, if it has another one by now.

    A second time changes nothing.
    """
    text = {} if text_hash is None else {"text_hash": text_hash}
    changed = connection.execute(
        update(capture_writes)
        .where(
            capture_writes.c.capture_id == capture_id,
            capture_writes.c.statement == statement,
            capture_writes.c.landed_at.is_(None),
        )
        .values(snapshot_id=snapshot_id, landed_at=now_ms(), **text)
        .returning(capture_writes.c.target)
    )
    _settle(connection, changed.scalars())


def forget_landed(connection: Connection, capture_id: str, statements: str) -> None:
    """What statements of this prefix had written is gone: they have only begun, as far as is known here."""
    changed = connection.execute(
        update(capture_writes)
        .where(
            capture_writes.c.capture_id == capture_id,
            capture_writes.c.statement.startswith(statements, autoescape=True),
        )
        .values(snapshot_id=None, landed_at=None)
        .returning(capture_writes.c.target)
    )
    _settle(connection, changed.scalars())


def writes_of(connection: Connection, capture_id: str) -> tuple[Write, ...]:
    """The statements under a capture, in the order in which they began."""
    query = (
        select(capture_writes)
        .where(capture_writes.c.capture_id == capture_id)
        .order_by(capture_writes.c.begun_at, capture_writes.c.statement)
    )
    return tuple(Write(*row) for row in connection.execute(query))


def _settle(connection: Connection, changed: Iterable[str]) -> None:
    # In one order, so that no two wait for each other.
    for target in sorted(set(changed)):
        settle_target(connection, target)


def landed_snapshot(lake: Lake, target: str, marker: str) -> int | None:
    """The snapshot of a table, on any branch, that the statement of this marker made."""
    made = (x.id for x in _snapshots(lake, target) if x.summary.get(STATEMENT_PROPERTY) == marker)
    return next(made, None)


def has_landed(lake: Lake, capture_id: str, writes: tuple[Write, ...]) -> bool:
    """Whether anything that was written under a capture is in its target.

    Reads the metadata of the targets of statements that began, and of which nothing more is known.
    """
    if any(write.landed_at is not None for write in writes):
        return True
    targets = dict.fromkeys(write.target for write in writes)
    return any(_is_of(snapshot, capture_id) for target in targets for snapshot in _snapshots(lake, target))


def _is_of(snapshot: Snapshot, capture_id: str) -> bool:
    return any(under == capture_id for under, _ in read_marker(snapshot.summary.get(STATEMENT_PROPERTY, "")))


def _snapshots(lake: Lake, target: str) -> tuple[Snapshot, ...]:
    try:
        return open_table(lake, target).metadata.snapshots()
    except CalveError as error:
        # Dropped, or never made: what it may have held is gone with it.
        if error.code in _NOTHING_THERE:
            return ()
        raise
