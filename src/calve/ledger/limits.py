"""How much a capture may hold, and where it is cut: always between two snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from heapq import merge
from itertools import accumulate

from calve.errors import UsageError
from calve.lake.amounts import Amount, added_by, held_at
from calve.lake.history import changes_rows, trace
from calve.lake.metadata import Snapshot, TableMetadata
from calve.lake.model import Mode, Segment
from calve.ledger.chain import is_empty


@dataclass(frozen=True, slots=True)
class CaptureLimits:
    """The most that one capture takes, over all its tables; None is no limit.

    At least one snapshot that changes something is taken, however big it is; what is over the
    limit waits for the next capture.
    """

    max_files: int | None = None
    max_rows: int | None = None
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and value < 1:
                raise UsageError(
                    "LIMIT_INVALID",
                    f"found {limit.name} {value}; expected a whole number from 1 on",
                    f"correct {limit.name}, or leave it out for no limit",
                )

    def doubled(self) -> CaptureLimits:
        """Twice as much."""
        limits = (getattr(self, limit.name) for limit in fields(self))
        return CaptureLimits(*(None if limit is None else 2 * limit for limit in limits))

    def allow(self, amount: Amount) -> bool:
        """Whether that much may be in one capture."""
        most = (self.max_files, self.max_rows, self.max_bytes)
        found = (amount.files, amount.records, amount.bytes)
        return all(limit is None or have <= limit for limit, have in zip(most, found, strict=True))


@dataclass(frozen=True, slots=True)
class Offer:
    """What a capture may take of one table, oldest first."""

    metadata: TableMetadata
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """What cannot be cut further: one snapshot, or a stretch that is only known as a whole."""

    source: int
    segment: int
    end: int | None
    amount: Amount
    changes: bool
    timestamp_ms: int


def cut(limits: CaptureLimits, mode: Mode, offers: Sequence[Offer]) -> list[tuple[Segment, ...]]:
    """What a capture takes of each table.

    Snapshots of several tables are taken in the order of their time, so that none of the tables
    waits for the others and all are taken up to about the same moment.
    """
    pieces = [list(_pieces(at, offer, mode)) for at, offer in enumerate(offers)]
    last = [_first_needed(offer, own) for offer, own in zip(offers, pieces, strict=True)]
    spent, changed = Amount(), False
    for _, piece in merge(*map(_in_time, pieces), key=lambda timed: timed[0]):
        spent += piece.amount
        if changed and not limits.allow(spent):
            break
        changed = changed or piece.changes
        last[piece.source] = piece
    return [_until(offer.segments, piece) for offer, piece in zip(offers, last, strict=True)]


def _until(segments: tuple[Segment, ...], piece: _Piece | None) -> tuple[Segment, ...]:
    start = segments[0].from_snapshot_exclusive
    if piece is None:
        return (Segment(start, start),)
    partly = Segment(segments[piece.segment].from_snapshot_exclusive, piece.end)
    return (*segments[: piece.segment], partly)


def _first_needed(offer: Offer, pieces: Sequence[_Piece]) -> _Piece | None:
    """A capture of nothing shows the state that it starts from, so that must still be there."""
    start = offer.segments[0].from_snapshot_exclusive
    is_there = start is None or offer.metadata.has_snapshot(start)
    return None if is_there or not pieces else pieces[0]


def _in_time(pieces: Sequence[_Piece]) -> Iterator[tuple[int, _Piece]]:
    """Each with a time that is not before that of the one before: clocks of writers may differ."""
    times = accumulate((piece.timestamp_ms for piece in pieces), max)
    return zip(times, pieces, strict=True)


def _pieces(source: int, offer: Offer, mode: Mode) -> Iterator[_Piece]:
    for at, segment in enumerate(offer.segments):
        stretch = trace(offer.metadata, segment)
        from_the_beginning = segment.from_snapshot_exclusive is None
        if stretch.snapshots and (stretch.complete or from_the_beginning):
            for number, snapshot in enumerate(stretch.snapshots):
                amount = _amount(snapshot, mode, is_base=from_the_beginning and number == 0)
                changes = amount != Amount() or (mode is not Mode.APPEND and changes_rows(snapshot, mode))
                yield _Piece(source, at, snapshot.id, amount, changes, snapshot.timestamp_ms)
        else:
            whole = sum((_amount(x, mode, is_base=False) for x in stretch.snapshots), Amount())
            newest = max((x.timestamp_ms for x in stretch.snapshots), default=0)
            changes = not is_empty(segment)
            yield _Piece(source, at, segment.to_snapshot_inclusive, whole, changes, newest)


def _amount(snapshot: Snapshot, mode: Mode, *, is_base: bool) -> Amount:
    """What a snapshot puts into a capture. The first state there is stands for all that led to it."""
    if is_base:
        return held_at(snapshot)
    return added_by(snapshot) if changes_rows(snapshot, mode) else Amount()
