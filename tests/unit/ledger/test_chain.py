"""The chain against a model that remembers, for every snapshot, what became of it."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from calve.lake.model import Mode, Segment
from calve.ledger.chain import Chain, Link, LinkState, NotHeldError, is_empty

FREE = "free"
DONE = "done"


def expand(segment: Segment) -> list[int]:
    """The snapshots of a stretch of a straight history 1, 2, 3, …"""
    return list(range((segment.from_snapshot_exclusive or 0) + 1, (segment.to_snapshot_inclusive or 0) + 1))


def shorten(segments: tuple[Segment, ...], most: int) -> tuple[Segment, ...]:
    """The stretches of the oldest snapshots only."""
    kept: list[Segment] = []
    for segment in segments:
        snapshots = expand(segment)[:most]
        if snapshots:
            kept.append(Segment(segment.from_snapshot_exclusive, snapshots[-1]))
        most -= len(snapshots)
    return tuple(kept)


class StraightHistory(RuleBasedStateMachine):
    """Captures, commits in any order and releases, on a history that only grows."""

    def __init__(self) -> None:
        super().__init__()
        self.chain = Chain()
        self.fate: dict[int, str] = {}
        self.open: dict[str, tuple[Segment, ...]] = {}
        self.captures = 0

    @property
    def head(self) -> int | None:
        return len(self.fate) or None

    @rule(snapshots=st.integers(1, 3))
    def write(self, snapshots: int) -> None:
        for _ in range(snapshots):
            self.fate[len(self.fate) + 1] = FREE

    @rule(mode=st.sampled_from(Mode), most=st.integers(0, 6))
    def capture(self, mode: Mode, most: int) -> None:
        """All there is, or the oldest of it only."""
        self.captures += 1
        name = f"c{self.captures}"
        segments = self.chain.next_segments(self.head, mode)
        if most and any(not is_empty(segment) for segment in segments):
            segments = shorten(segments, most)
        taken = [snapshot for segment in segments for snapshot in expand(segment)]
        assert taken == self.expected(mode)[: most or None]
        self.chain = self.chain.hold(name, segments)
        self.fate |= dict.fromkeys(taken, name)
        self.open[name] = segments

    def expected(self, mode: Mode) -> list[int]:
        runs = [(free, list(run)) for free, run in groupby(self.fate, lambda x: self.fate[x] == FREE)]
        free_runs = [run for free, run in runs if free]
        wanted = free_runs if mode is Mode.APPEND else free_runs[:1]
        return [snapshot for run in wanted for snapshot in run]

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.open)))
        self.chain = self.chain.commit(name, self.open.pop(name))
        self.settle(name, DONE)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.open)))
        self.chain = self.chain.release(name, self.open.pop(name))
        self.settle(name, FREE)

    @rule(snapshots=st.integers(1, 3))
    def publish(self, snapshots: int) -> None:
        """Somebody else writes, and has accounted for it by itself."""
        before = self.head
        for _ in range(snapshots):
            self.fate[len(self.fate) + 1] = DONE
        self.chain = self.chain.account(Segment(before, self.head))

    def settle(self, name: str, fate: str) -> None:
        self.fate |= dict.fromkeys([x for x, owner in self.fate.items() if owner == name], fate)

    @invariant()
    def agrees_with_the_model(self) -> None:
        chain = self.chain
        assert all(self.fate[x] == DONE for x in range(1, (chain.frontier or 0) + 1))
        for link in chain.links:
            expected = {LinkState.GAP: FREE, LinkState.COMMITTED: DONE, LinkState.HELD: link.capture_id}
            assert {self.fate[x] for x in expand(link.span)} == {expected[link.state]}
        assert all(self.fate[x] == FREE for x in range((chain.end or 0) + 1, len(self.fate) + 1))

    @invariant()
    def knows_what_is_not_accounted_for(self) -> None:
        behind = [x for segment in self.chain.uncommitted(self.head) for x in expand(segment)]
        assert behind == [x for x, fate in self.fate.items() if fate != DONE]

    @invariant()
    def is_in_normal_form(self) -> None:
        assert_normal(self.chain)

    @invariant()
    def survives_storage(self) -> None:
        assert Chain.from_json(self.chain.frontier, self.chain.to_json()) == self.chain


TestStraightHistory = StraightHistory.TestCase
TestStraightHistory.settings = settings(max_examples=80, stateful_step_count=30)


def assert_normal(chain: Chain) -> None:
    """Contiguous; no two neighbours that could be one; nothing that belongs to frontier or tail."""
    end = chain.frontier
    for link in chain.links:
        assert link.span.from_snapshot_exclusive == end
        end = link.span.to_snapshot_inclusive
        assert (link.capture_id is not None) == (link.state is LinkState.HELD)
    states = [link.state for link in chain.links]
    merged = [state for state, _ in groupby(states) if state is not LinkState.HELD]
    assert len(merged) == len([state for state in states if state is not LinkState.HELD])
    assert not states or (states[0] is not LinkState.COMMITTED and states[-1] is not LinkState.GAP)


Move = tuple[str, int, Mode]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["capture", "commit", "release"]),
            st.integers(1, 5),
            st.sampled_from([Mode.NET, Mode.LOG]),
        ),
        max_size=40,
    )
)
def test_a_history_that_jumps_back_and_forth_keeps_the_chain_contiguous(moves: list[Move]) -> None:
    """After rollbacks the head may be any snapshot: stretches then lead from state to state."""
    chain = Chain()
    held: dict[str, tuple[Segment, ...]] = {}
    reached: set[int | None] = {None}
    for number, (move, pick, mode) in enumerate(moves):
        if move == "capture":
            held[f"c{number}"] = segments = chain.next_segments(pick, mode)
            chain = chain.hold(f"c{number}", segments)
        elif held:
            name = sorted(held)[pick % len(held)]
            segments = held.pop(name)
            chain = chain.commit(name, segments) if move == "commit" else chain.release(name, segments)
            reached |= {x.to_snapshot_inclusive for x in segments if move == "commit"}
        assert_normal(chain)
    assert chain.frontier in reached


def test_a_capture_cannot_settle_what_it_does_not_hold() -> None:
    held = Chain(1).hold("a", [Segment(1, 3)])
    with pytest.raises(NotHeldError):
        held.commit("b", [Segment(1, 3)])
    with pytest.raises(NotHeldError):
        held.commit("a", [Segment(1, 2)])
    with pytest.raises(NotHeldError):
        held.commit("a", [Segment(1, 3)]).commit("a", [Segment(1, 3)])


def test_a_stretch_that_is_taken_cannot_be_taken_again() -> None:
    held = Chain(1).hold("a", [Segment(1, 3)])
    with pytest.raises(NotHeldError):
        held.hold("b", [Segment(1, 3)])


def test_what_is_left_of_a_gap_stays_a_gap() -> None:
    chain = Chain(1).hold("a", [Segment(1, 4)]).hold("b", [Segment(4, 5)]).release("a", [Segment(1, 4)])
    held = chain.hold("c", [Segment(1, 2)])
    assert held.unheld(5) == (Segment(2, 4),)
    assert held.commit("c", [Segment(1, 2)]).frontier == 2
    assert held.release("c", [Segment(1, 2)]) == chain


def test_of_gaps_that_start_alike_the_oldest_is_taken() -> None:
    """A rollback led back to where the first gap starts, and on from there."""
    chain = Chain(1).hold("a", [Segment(1, 3)]).hold("b", [Segment(3, 1)]).hold("c", [Segment(1, 3)])
    chain = chain.hold("d", [Segment(3, 4)]).release("a", [Segment(1, 3)]).release("c", [Segment(1, 3)])
    held = chain.hold("e", [Segment(1, 2)])
    assert [link.capture_id for link in held.links] == ["e", None, "b", None, "d"]


def test_nothing_new_is_an_empty_stretch_at_the_end_of_the_chain() -> None:
    chain = Chain(1).hold("a", [Segment(1, 3)])
    (nothing,) = chain.next_segments(3, Mode.APPEND)
    assert nothing == Segment(3, 3)
    assert is_empty(nothing)
    assert chain.hold("b", [nothing]) == chain


def test_gaps_that_lead_back_to_where_they_started_vanish() -> None:
    """A rollback undid what the first capture had, and both captures were released."""
    chain = Chain(1).hold("a", [Segment(1, 3)]).hold("b", [Segment(3, 1)]).hold("c", [Segment(1, 5)])
    chain = chain.release("a", [Segment(1, 3)]).release("b", [Segment(3, 1)])
    assert chain.links == (Link(Segment(1, 5), LinkState.HELD, "c"),)
