"""Which capture a request gets: one that is open already, or which stretches a new one takes.

Decides, and touches nothing: what it looks at was read before, and what it decides is carried
out under compare-and-set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from calve.errors import RefusedError, UsageError
from calve.lake.lookback import LookbackAsk
from calve.lake.model import Segment
from calve.lake.tables import SourceTable
from calve.ledger.abandoned import Stranded
from calve.ledger.asks import Source
from calve.ledger.chain import Chain
from calve.ledger.holds import Hold, held_head
from calve.ledger.limits import CaptureLimits, Offer, cut
from calve.ledger.options import CaptureOptions
from calve.ledger.records import CaptureRecord, Position
from calve.ledger.start import start_of
from calve.ledger.transact import position_ids

#: A position as it was read, with the chain that the stretches were chosen from.
Taking = tuple[Position, tuple[Segment, ...]]


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a capture. With a `run_ref` only captures of that run are given back."""

    sources: tuple[Source, ...]
    consumer: str
    options: CaptureOptions
    start_from: str | None
    start_once: bool  # a start that was given counts for new positions, and is no mistake elsewhere
    parallel: bool
    owner: str
    run_ref: str | None
    limits: CaptureLimits
    lookback: LookbackAsk | None
    ttl: timedelta | None


@dataclass(frozen=True, slots=True)
class Spot:
    """A table of the request, and the consumer's position in it (`id` None: never seen)."""

    source: Source
    table: SourceTable
    position: Position
    hold: Hold | None = None

    def head(self, chain: Chain) -> int | None:
        """Up to where a chain may be taken: the newest snapshot of the branch, or that of a hold.

        Raises BRANCH_NOT_FOUND or NOT_A_BRANCH.
        """
        name, branch = self.table.name, self.position.branch
        try:
            return held_head(self.table.metadata, branch, chain.end, self.hold)
        except UsageError as error:
            remedy = error.remedy
            if self.position.known:
                remedy += (
                    f"; if it is gone for good, `calve checkpoint reset {name} --branch {branch} "
                    f"--consumer {self.position.consumer}` forgets the position on it"
                )
            raise type(error)(error.code, f"{name}: {error.message}", remedy) from error


@dataclass(frozen=True, slots=True)
class Take:
    """A new capture: its stretches, and the captures that it takes the place of, idle or abandoned."""

    takes: tuple[Taking, ...]
    supersedes: tuple[CaptureRecord, ...]
    abandoned: tuple[Stranded, ...]


@dataclass(frozen=True, slots=True)
class Adopt:
    """An abandoned capture that goes on in the hands of another run, and those that are released."""

    adopted: Stranded
    abandoned: tuple[Stranded, ...]


def choose(
    ask: Ask,
    spots: Sequence[Spot],
    open_captures: Sequence[CaptureRecord],
    stranded: Sequence[Stranded] = (),
) -> CaptureRecord | Adopt | Take:
    """The open capture to give back or to take over, or what a new one takes.

    `stranded` are those of the open captures whose runs have ended. What landed in a target must
    not be written again, so the oldest of them that has landed writes is taken over as it is, and
    the others are released. Raises CAPTURE_OPEN if another open capture is in the way, and
    CHECKPOINT_EXISTS if a start is given for a position that has one.
    """
    wanted = {spot.position.id for spot in spots}
    mine = [record for record in open_captures if _belongs(record, ask)]
    busy = [record for record in mine if not record.is_idle]
    if busy:
        return _give_back(ask, _same_tables(busy, wanted), busy[0])
    left = tuple(x for x in stranded if not x.landed)
    for landed in (x for x in stranded if x.landed):
        _give_back(ask, _same_tables([landed.record], wanted), landed.record)
        return Adopt(landed, left)
    if not left and not any(_unheld(spot) for spot in spots):
        for record in _same_tables(open_captures, wanted):
            if record.is_idle and record.run_ref == ask.run_ref and _same_options(record, ask, spots):
                return _give_back(ask, [record], record)
    superseded = [*mine, *(x.record for x in left)]
    takes = [_take(ask, spot, open_captures, superseded) for spot in spots]
    return Take(_limited(ask, spots, takes, superseded), tuple(mine), left)


def _limited(
    ask: Ask, spots: Sequence[Spot], takes: Sequence[Taking], superseded: Sequence[CaptureRecord]
) -> tuple[Taking, ...]:
    """What the limits leave of what could be taken.

    What an idle capture had shows no change, and the one in its place must come further: a consumer
    may leave empty captures alone and ask again.
    """
    limits = ask.limits
    if limits == CaptureLimits():
        return tuple(takes)
    offers = [Offer(x.table.metadata, segments) for x, (_, segments) in zip(spots, takes, strict=True)]
    tried = [_stretches(record) for record in superseded if record.is_idle]
    while True:
        taken = cut(limits, ask.options.mode, offers)
        limited = tuple((position, some) for (position, _), some in zip(takes, taken, strict=True))
        if limited == tuple(takes) or {x.id: some for x, some in limited} not in tried:
            return limited
        limits = limits.doubled()


def _stretches(record: CaptureRecord) -> dict[int | None, tuple[Segment, ...]]:
    return {source.position_id: source.segments for source in record.sources}


def _belongs(record: CaptureRecord, ask: Ask) -> bool:
    if ask.run_ref is not None:
        return record.run_ref == ask.run_ref
    return not ask.parallel


def _same_tables(records: Iterable[CaptureRecord], wanted: set[int | None]) -> list[CaptureRecord]:
    return [record for record in records if position_ids(record) == wanted]


def _same_options(record: CaptureRecord, ask: Ask, spots: Sequence[Spot]) -> bool:
    asked = {spot.position.id: spot.source.options.range_columns for spot in spots}
    same_columns = all(asked[source.position_id] == source.range_columns for source in record.sources)
    return same_columns and _apart_from_sources(record.options) == _apart_from_sources(ask.options)


def _apart_from_sources(options: CaptureOptions) -> CaptureOptions:
    """The options without those that each source has for itself."""
    return replace(options, range_columns=(), branch="")


def _unheld(spot: Spot) -> bool:
    chain = spot.position.chain
    return not spot.position.known or bool(chain.unheld(spot.head(chain)))


def _give_back(ask: Ask, candidates: Sequence[CaptureRecord], blocking: CaptureRecord) -> CaptureRecord:
    if not candidates:
        held = ", ".join(source.table_name for source in blocking.sources)
        raise _in_the_way(blocking, f"is open for {held}, which is not what is asked for now")
    record = candidates[0]
    if ask.start_from is not None and ask.start_from != record.start_from and not ask.start_once:
        raise _has_start(ask, record.sources[0].table_name)
    if _apart_from_sources(ask.options) != _apart_from_sources(record.options):
        raise _in_the_way(record, f"is open with other options ({_differences(ask, record)})")
    return record


def _take(
    ask: Ask, spot: Spot, open_captures: Sequence[CaptureRecord], superseded: Sequence[CaptureRecord]
) -> Taking:
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
    return position, chain.next_segments(spot.head(chain), ask.options.mode)


def _starts_here(ask: Ask, position: Position, touching: Sequence[CaptureRecord]) -> bool:
    """Whether this capture decides where the consumer starts. A start that is repeated while
    nothing is settled is a retry, so it changes nothing."""
    if not position.known:
        return True
    if ask.start_from is None or ask.start_once:
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
    asked, found = (_apart_from_sources(x.options).to_json() for x in (ask, record))
    return ", ".join(f"{key} {found[key]}, asked {asked[key]}" for key in found if found[key] != asked[key])
