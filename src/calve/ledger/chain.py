"""A consumer's position in one branch of one table, as a pure value.

    frontier ──▶ link ──▶ link ──▶ … ──▶ end   (──▶ tail ──▶ head of the branch)

The frontier and everything before it are accounted for. The links beyond it are contiguous,
each starting where the one before ends; each is held by an open capture, was committed ahead
of an older one, or is a gap that a released capture left. What lies between the end of the
chain and the head of the branch, the tail, is never stored.

Every operation costs as much as there are links, never as much as there is history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from calve.lake.model import Mode, Segment


class LinkState(StrEnum):
    """What became of a stretch beyond the frontier."""

    HELD = "held"  # an open capture has it
    COMMITTED = "committed"  # accounted for, waiting for an older one
    GAP = "gap"  # given back: the next capture takes it


class NotHeldError(Exception):
    """A capture does not hold exactly the stretches it claims to hold."""


@dataclass(frozen=True, slots=True)
class Link:
    """One stretch beyond the frontier; `capture_id` says who holds it while it is held."""

    span: Segment
    state: LinkState
    capture_id: str | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """A frontier and what lies beyond it. Always in normal form, see `_normal`."""

    frontier: int | None = None
    links: tuple[Link, ...] = ()

    @property
    def end(self) -> int | None:
        """Where the tail starts."""
        return _end_of(self.links, self.frontier)

    def unheld(self, head: int | None) -> tuple[Segment, ...]:
        """What a capture may take, oldest first: the gaps and the tail."""
        return (*self.gaps(), *self._tail(head))

    def uncommitted(self, head: int | None) -> tuple[Segment, ...]:
        """What is not accounted for, oldest first: gaps, held stretches and the tail."""
        spans = [link.span for link in self.links if link.state is not LinkState.COMMITTED]
        return (*spans, *self._tail(head))

    def gaps(self) -> tuple[Segment, ...]:
        """What released captures left behind committed or held stretches."""
        return tuple(link.span for link in self.links if link.state is LinkState.GAP)

    def next_segments(self, head: int | None, mode: Mode) -> tuple[Segment, ...]:
        """What the next capture takes; one stretch from `end` to `end` when there is nothing.

        Rows of append captures add up in any order, so append mode takes all there is. A net
        or log change is relative to the state it starts from, so these take one stretch.
        """
        free = self.unheld(head)
        if not free:
            return (Segment(self.end, self.end),)
        return free if mode is Mode.APPEND else free[:1]

    def hold(self, capture_id: str, segments: Sequence[Segment]) -> Chain:
        """The chain after a capture took `segments`: the first of those that `next_segments` gave,
        of which the last may end earlier. What is left of a gap then stays a gap."""
        wanted = [segment for segment in segments if not is_empty(segment)]
        links = list(self.links)
        for segment in wanted:
            held = Link(segment, LinkState.HELD, capture_id)
            at = _gap_from(links, segment.from_snapshot_exclusive)
            if at is not None:
                links[at : at + 1] = [held, *_rest(links[at].span, segment)]
            elif segment.from_snapshot_exclusive == _end_of(links, self.frontier):
                links.append(held)
            else:
                raise NotHeldError(f"{segment} is neither a gap nor the tail")
        return Chain(self.frontier, tuple(links))

    def commit(self, capture_id: str, segments: Sequence[Segment]) -> Chain:
        """The chain after a capture was committed; `NotHeldError` if it does not hold `segments`."""
        return self._settle(capture_id, segments, LinkState.COMMITTED)

    def release(self, capture_id: str, segments: Sequence[Segment]) -> Chain:
        """The chain after a capture was given back; `NotHeldError` if it does not hold `segments`."""
        return self._settle(capture_id, segments, LinkState.GAP)

    def account(self, segment: Segment) -> Chain:
        """The chain after somebody else accounted for a stretch that begins at its end or after it.

        What lies between stays unprocessed, as a gap.
        """
        if is_empty(segment):
            return self
        before = Segment(self.end, segment.from_snapshot_exclusive)
        added = [] if is_empty(before) else [Link(before, LinkState.GAP)]
        return _normal(self.frontier, (*self.links, *added, Link(segment, LinkState.COMMITTED)))

    def to_json(self) -> list[list[Any]]:
        """The links, without the frontier, as plain lists."""
        return [
            [x.span.from_snapshot_exclusive, x.span.to_snapshot_inclusive, x.state.value, x.capture_id]
            for x in self.links
        ]

    @classmethod
    def from_json(cls, frontier: int | None, raw: Iterable[Sequence[Any]]) -> Chain:
        """The inverse of `to_json`."""
        links = (Link(Segment(start, end), LinkState(state), owner) for start, end, state, owner in raw)
        return cls(frontier, tuple(links))

    def _tail(self, head: int | None) -> tuple[Segment, ...]:
        tail = Segment(self.end, head)
        return () if is_empty(tail) else (tail,)

    def _settle(self, capture_id: str, segments: Sequence[Segment], state: LinkState) -> Chain:
        held = [link.span for link in self.links if link.capture_id == capture_id]
        if held != [segment for segment in segments if not is_empty(segment)]:
            raise NotHeldError(f"capture {capture_id} claims {list(segments)} and holds {held}")
        links = (Link(x.span, state) if x.capture_id == capture_id else x for x in self.links)
        return _normal(self.frontier, links)


def is_empty(segment: Segment) -> bool:
    """Whether a stretch starts where it ends."""
    return segment.from_snapshot_exclusive == segment.to_snapshot_inclusive


def _gap_from(links: Sequence[Link], start: int | None) -> int | None:
    """The place of the oldest gap that starts there. After rollbacks several may, and gaps are
    taken oldest first."""
    starts = (x.state is LinkState.GAP and x.span.from_snapshot_exclusive == start for x in links)
    return next((at for at, found in enumerate(starts) if found), None)


def _rest(gap: Segment, taken: Segment) -> list[Link]:
    """What stays of a gap of which the beginning was taken."""
    rest = Segment(taken.to_snapshot_inclusive, gap.to_snapshot_inclusive)
    return [] if is_empty(rest) else [Link(rest, LinkState.GAP)]


def _end_of(links: Sequence[Link], frontier: int | None) -> int | None:
    return links[-1].span.to_snapshot_inclusive if links else frontier


def _normal(frontier: int | None, links: Iterable[Link]) -> Chain:
    """Neighbours that are both gaps or both committed are one link, a gap that leads back to
    its start is none, leading committed links are in the frontier, trailing gaps in the tail."""
    merged: list[Link] = []
    for link in links:
        span = link.span
        if merged and link.state is not LinkState.HELD and merged[-1].state is link.state:
            span = replace(span, from_snapshot_exclusive=merged.pop().span.from_snapshot_exclusive)
        if link.state is not LinkState.GAP or not is_empty(span):
            merged.append(replace(link, span=span))
    if merged and merged[-1].state is LinkState.GAP:
        merged.pop()
    if merged and merged[0].state is LinkState.COMMITTED:
        frontier = merged.pop(0).span.to_snapshot_inclusive
    return Chain(frontier, tuple(merged))
