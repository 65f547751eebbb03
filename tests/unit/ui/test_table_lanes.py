"""What each snapshot of a line is to a consumer."""

from __future__ import annotations

from collections.abc import Iterable

from calve.lake.metadata import TableMetadata
from calve.lake.model import Segment
from calve.ledger.chain import Chain, Link, LinkState
from calve.ledger.listing import CaptureHead
from calve.ledger.records import Position
from calve.ui.drawing.snapshot_line import Lane
from calve.ui.views.tables.lanes import is_beside, lane_of, newest_line


def history(length: int, beside: Iterable[tuple[int, int]] = ()) -> TableMetadata:
    """Snapshots 1, 2, …, each made from the one before; `beside`: others, each with its parent."""
    parents = [(at, at - 1) for at in range(1, length + 1)] + list(beside)
    snapshots = [
        {
            "snapshot-id": own,
            "timestamp-ms": own,
            "manifest-list": "x",
            **({"parent-snapshot-id": parent} if parent else {}),
        }
        for own, parent in parents
    ]
    return TableMetadata({"current-snapshot-id": length, "snapshots": snapshots}, "somewhere")


def position(frontier: int | None, *links: Link) -> Position:
    return Position(7, 1, "one", "uuid", "main", "lake.db.t", True, Chain(frontier, links), None, 0)


def capture(name: str, start: int | None, end: int, status: str = "committed") -> CaptureHead:
    return CaptureHead(name, "one", status, None, 0, None, {7: (Segment(start, end),)})


def states(lane: Lane) -> list[tuple[int, int, str, str | None]]:
    return [(x.first, x.last, x.state, x.capture_id) for x in lane.stretches]


def test_a_lane_is_committed_then_held_then_pending() -> None:
    line = newest_line(history(6), 60)
    links = (
        Link(Segment(2, 3), LinkState.HELD, "cap_3"),
        Link(Segment(3, 4), LinkState.GAP),
        Link(Segment(4, 5), LinkState.COMMITTED),
    )
    lane = lane_of(position(2, *links), line, [capture("cap_2", 1, 2), capture("cap_1", None, 1)])
    assert states(lane) == [
        (0, 0, "committed", "cap_1"),
        (1, 1, "committed", "cap_2"),
        (2, 2, "held", "cap_3"),
        (3, 3, "gap", None),
        (4, 4, "committed", None),
        (5, 5, "pending", None),
    ]
    assert lane.frontier == 1


def test_captures_that_were_given_back_claim_nothing() -> None:
    line = newest_line(history(2), 60)
    lane = lane_of(position(2), line, [capture("cap_1", None, 2, "released")])
    assert states(lane) == [(0, 1, "committed", None)]


def test_of_a_cut_line_what_began_before_it_is_shown_from_its_start_on() -> None:
    line = newest_line(history(9), 3)
    assert (line.is_cut, [x.id for x in line.snapshots]) == (True, [7, 8, 9])
    held = Link(Segment(2, 8), LinkState.HELD, "cap_1")
    lane = lane_of(position(2, held), line, [])
    assert states(lane) == [(0, 1, "held", "cap_1"), (2, 2, "pending", None)]
    assert lane.frontier is None


def test_a_consumer_stands_beside_the_line_only_if_that_comes_from_elsewhere() -> None:
    metadata = history(9, beside=[(50, 4)])
    line = newest_line(metadata, 3)
    found = {at: is_beside(Chain(at), line, metadata) for at in (None, 2, 8, 50, 999)}
    assert found == {None: False, 2: False, 8: False, 50: True, 999: False}
    assert states(lane_of(position(50), line, [])) == [(0, 2, "pending", None)]


def test_a_table_without_snapshots_has_an_empty_lane() -> None:
    metadata = TableMetadata({"current-snapshot-id": -1}, "somewhere")
    line = newest_line(metadata, 60)
    assert (states(lane_of(position(None), line, [])), line.is_cut) == ([], False)
    assert not is_beside(Chain(5), line, metadata)
