"""Which capture a request gets: one that is open already, or which stretches a new one takes.

Decides, and touches nothing: what it looks at was read before, and what it decides is carried
out under compare-and-set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from calve.errors import RefusedError, UsageError
from calve.lake.model import Segment
from calve.lake.tables import SourceTable
from calve.ledger.chain import Chain
from calve.ledger.options import CaptureOptions
from calve.ledger.records import CaptureRecord, Position
from calve.ledger.start import start_of
from calve.ledger.transact import position_ids


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a capture. With a `run_ref` only captures of that run are given back."""

    tables: tuple[str, ...]
    consumer: str
    options: CaptureOptions
    start_from: str | None
    parallel: bool
    owner: str
    run_ref: str | None


@dataclass(frozen=True, slots=True)
class Spot:
    """A table of the request, and the consumer's position in it (`id` None: never seen)."""

    table: SourceTable
    position: Position

    def head(self) -> int | None:
        """The newest snapshot of the branch."""
        return self.table.metadata.current_snapshot_id(self.position.branch)


@dataclass(frozen=True, slots=True)
class Take:
    """A new capture: its stretches, and the idle captures that it takes the place of."""

    takes: tuple[tuple[Position, tuple[Segment, ...]], ...]
    supersedes: tuple[CaptureRecord, ...]


def choose(ask: Ask, spots: Sequence[Spot], open_captures: Sequence[CaptureRecord]) -> CaptureRecord | Take:
    """The open capture to give back, or what a new one takes.

    Raises CAPTURE_OPEN if another open capture is in the way, and CHECKPOINT_EXISTS if a start
    is given for a position that has one.
    """
    wanted = {spot.position.id for spot in spots}
    mine = [record for record in open_captures if _belongs(record, ask)]
    busy = [record for record in mine if not record.is_idle]
    if busy:
        return _give_back(ask, _same_tables(busy, wanted), busy[0])
    if not any(_unheld(spot) for spot in spots):
        for record in _same_tables(open_captures, wanted):
            if record.is_idle and record.run_ref == ask.run_ref and record.options == ask.options:
                return _give_back(ask, [record], record)
    return Take(tuple(_take(ask, spot, open_captures, mine) for spot in spots), tuple(mine))


def _belongs(record: CaptureRecord, ask: Ask) -> bool:
    if ask.run_ref is not None:
        return record.run_ref == ask.run_ref
    return not ask.parallel


def _same_tables(records: Iterable[CaptureRecord], wanted: set[int | None]) -> list[CaptureRecord]:
    return [record for record in records if position_ids(record) == wanted]


def _unheld(spot: Spot) -> bool:
    return not spot.position.known or bool(spot.position.chain.unheld(spot.head()))


def _give_back(ask: Ask, candidates: Sequence[CaptureRecord], blocking: CaptureRecord) -> CaptureRecord:
    if not candidates:
        held = ", ".join(source.table_name for source in blocking.sources)
        raise _in_the_way(blocking, f"is open for {held}, which is not what is asked for now")
    record = candidates[0]
    if ask.start_from is not None and ask.start_from != record.start_from:
        raise _has_start(ask, record.sources[0].table_name)
    if replace(ask.options, range_columns=()) != replace(record.options, range_columns=()):
        raise _in_the_way(record, f"is open with other options ({_differences(ask, record)})")
    return record


def _take(
    ask: Ask, spot: Spot, open_captures: Sequence[CaptureRecord], superseded: Sequence[CaptureRecord]
) -> tuple[Position, tuple[Segment, ...]]:
    position = replace(spot.position, table_name=str(spot.table.name))
    touching = [record for record in open_captures if position.id in position_ids(record)]
    if _starts_here(ask, position, touching):
        start = (
            None if ask.start_from is None else start_of(ask.start_from, spot.table.metadata, position.branch)
        )
        position = replace(position, chain=Chain(start), settled_at=None)
    chain = position.chain
    for record in superseded:
        for source in record.sources:
            if source.position_id == position.id:
                chain = chain.release(record.id, source.segments)
    position = replace(position, chain=chain)
    return position, chain.next_segments(spot.head(), ask.options.mode)


def _starts_here(ask: Ask, position: Position, touching: Sequence[CaptureRecord]) -> bool:
    """Whether this capture decides where the consumer starts. A start that is repeated while
    nothing is settled is a retry, so it changes nothing."""
    if not position.known:
        return True
    if ask.start_from is None:
        return False
    if position.settled_at is not None or any(x.start_from != ask.start_from for x in touching):
        raise _has_start(ask, position.table_name)
    return not touching


def _has_start(ask: Ask, table: str) -> UsageError:
    return UsageError(
        "CHECKPOINT_EXISTS",
        f"consumer {ask.consumer} has a checkpoint on {table}, so it cannot start from {ask.start_from}",
        f"leave --start-from out, or use `calve checkpoint set {table} --consumer {ask.consumer}`",
    )


def _in_the_way(record: CaptureRecord, reason: str) -> RefusedError:
    return RefusedError(
        "CAPTURE_OPEN",
        f"capture {record.id} of consumer {record.consumer} {reason}",
        f"`calve commit {record.id}`, `calve release {record.id}`, or give --parallel for a further one",
    )


def _differences(ask: Ask, record: CaptureRecord) -> str:
    asked, found = ask.options.to_json(), record.options.to_json()
    return ", ".join(f"{key} {found[key]}, asked {asked[key]}" for key in found if found[key] != asked[key])
