"""How far each consumer has come, along the snapshots of a table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from calve.lake.amounts import count
from calve.lake.lag import summary_operation
from calve.lake.metadata import Snapshot, TableMetadata
from calve.lake.model import Segment
from calve.ledger.chain import Chain, LinkState
from calve.ledger.listing import CaptureHead
from calve.ledger.records import Position
from calve.ui.drawing.snapshot_line import Lane, Snap, Stretch

COMMITTED, HELD, GAP, PENDING = "committed", "held", "gap", "pending"
_STATES = {LinkState.COMMITTED: COMMITTED, LinkState.HELD: HELD, LinkState.GAP: GAP}


@dataclass(frozen=True, slots=True)
class Line:
    """The newest snapshots of a branch, oldest first. `is_cut` says that there are older ones."""

    snapshots: tuple[Snapshot, ...]
    is_cut: bool

    @property
    def places(self) -> Mapping[int, int]:
        """The place of each snapshot by its id."""
        return {snapshot.id: at for at, snapshot in enumerate(self.snapshots)}


def newest_line(metadata: TableMetadata, limit: int, branch: str = "main") -> Line:
    """The newest snapshots of a branch."""
    found: list[Snapshot] = []
    for snapshot in metadata.ancestry(metadata.current_snapshot_id(branch)):
        if len(found) == limit:
            return Line(tuple(reversed(found)), is_cut=True)
        found.append(snapshot)
    return Line(tuple(reversed(found)), is_cut=False)


def snap_of(snapshot: Snapshot) -> Snap:
    """A snapshot as the picture needs it."""
    added, removed = count(snapshot, "added-records"), count(snapshot, "deleted-records")
    return Snap(snapshot.id, snapshot.timestamp_ms, summary_operation(snapshot).value, added, removed)


def lane_of(position: Position, line: Line, captures: Iterable[CaptureHead]) -> Lane:
    """What each snapshot of the line is to a consumer, and up to where all is committed."""
    places = line.places
    frontier = _place(position.chain.frontier, places)
    states: list[tuple[str, str | None]] = [(PENDING, None)] * len(line.snapshots)
    states[: frontier + 1] = [(COMMITTED, None)] * (frontier + 1)
    for link in position.chain.links:
        for at in _within(link.span, places):
            states[at] = (_STATES[link.state], link.capture_id)
    for capture in captures:
        for segment in capture.segments.get(position.id or 0, ()):
            for at in _within(segment, places):
                if states[at] == (COMMITTED, None) and capture.status == COMMITTED:
                    states[at] = (COMMITTED, capture.id)
    return Lane(position.consumer, tuple(_grouped(states)), frontier if frontier >= 0 else None)


def _within(span: Segment, places: Mapping[int, int]) -> range:
    """The places of the snapshots of a stretch; none if it does not end on the line."""
    end = places.get(span.to_snapshot_inclusive or 0)
    if end is None:
        return range(0)
    return range(_place(span.from_snapshot_exclusive, places) + 1, end + 1)


def _place(snapshot_id: int | None, places: Mapping[int, int]) -> int:
    """The place of a snapshot, or -1 for one that lies before the line, or beside it."""
    if snapshot_id is None:
        return -1
    return places.get(snapshot_id, -1)


def _grouped(states: Sequence[tuple[str, str | None]]) -> Iterable[Stretch]:
    at = 0
    for (state, capture_id), group in groupby(states):
        length = len(list(group))
        yield Stretch(at, at + length - 1, state, capture_id)
        at += length


def is_beside(chain: Chain, line: Line, metadata: TableMetadata) -> bool:
    """Whether a consumer stands on a snapshot from which the line does not come: history was rewritten."""
    at = chain.frontier
    if at is None or not line.snapshots or at in line.places or not metadata.has_snapshot(at):
        return False
    return not metadata.is_ancestor(at, line.snapshots[0].id)
