"""When a statement counts as landed, by the target's metadata and by what was noted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calve.spark.once.landing import Noted, Snapshot, TableState, find_landed
from calve.spark.once.scope import Scope, read_marker

SCOPE = Scope((("cap_1", "write"),))
MARK = "cap_1/write/2"


def line(*markers: str | None, first: int = 1) -> tuple[Snapshot, ...]:
    """A history without branches: snapshots 1, 2, 3 …"""
    return tuple(
        Snapshot(number, number - 1 or None, number * 1000, marker, number)
        for number, marker in enumerate(markers, first)
    )


def landed(state: TableState | None, noted: Noted | None = None, *branches: str) -> int | None:
    return find_landed(state, SCOPE, "2", noted, branches)


def test_a_marker_in_the_history_of_the_branch_is_a_landing() -> None:
    assert landed(TableState("t", line(None, MARK, None), {"main": 3})) == 2
    assert landed(TableState("t", line(None, "cap_1/write/1", "cap_2/write/2"), {"main": 3})) is None
    assert landed(TableState("t")) is None
    assert landed(None, Noted("hash", 2, 2000)) is None


def test_a_write_that_was_rolled_back_has_not_landed() -> None:
    rolled_back = TableState("t", line(None, MARK), {"main": 1})
    assert landed(rolled_back) is None
    assert landed(rolled_back, Noted("hash", 2, 2000)) is None


def test_a_write_to_a_branch_counts_while_the_branch_or_its_publication_is_there() -> None:
    snapshots = line(None, MARK)
    assert landed(TableState("t", snapshots, {"main": 1, "audit": 2}), None, "audit") == 2
    assert landed(TableState("t", snapshots, {"main": 1, "audit": 2})) is None
    assert landed(TableState("t", snapshots, {"main": 1}), None, "audit") is None
    assert landed(TableState("t", snapshots, {"main": 2}), None, "audit") == 2


def test_a_snapshot_that_was_expired_is_known_from_the_ledger() -> None:
    later = TableState("t", line(None, None, first=7), {"main": 8})
    assert landed(later) is None
    assert landed(later, Noted("hash", 2, 2000)) == 2
    assert landed(later, Noted("hash")) is None


def test_what_landed_in_a_table_of_the_same_name_that_is_gone_has_not_landed() -> None:
    made_anew = TableState("t", line(None), {"main": 1})
    assert landed(made_anew, Noted("hash", 99, 500)) is None
    assert landed(TableState("t"), Noted("hash", 99, 500)) is None


def test_what_is_older_than_a_gap_in_history_counts() -> None:
    snapshots = (line(MARK)[0], Snapshot(5, 4, 5000, None, 5))
    assert landed(TableState("t", snapshots, {"main": 5})) == 1


names = st.text("abc", min_size=1, max_size=3)
scopes = st.lists(
    st.tuples(names, st.lists(names, min_size=1, max_size=3).map("/".join)), min_size=1, unique=True
)


@given(scopes, names, names)
def test_a_marker_is_that_of_its_own_statement_alone(
    paths: list[tuple[str, str]], statement: str, other: str
) -> None:
    scope = Scope(tuple(dict(paths).items()))
    marker = scope.marker(statement)
    assert scope.is_of(marker, statement)
    assert scope.is_of(marker, other) == (statement == other)
    assert read_marker(marker) == {(capture, f"{path}/{statement}") for capture, path in scope.paths}


@given(scopes, names)
def test_a_statement_is_found_again_under_any_one_of_its_captures(
    paths: list[tuple[str, str]], statement: str
) -> None:
    scope = Scope(tuple(dict(paths).items()))
    for pair in scope.paths:
        assert Scope((pair,)).is_of(scope.marker(statement), statement)
        assert scope.is_of(Scope((pair,)).marker(statement), statement)
    foreign = Scope(tuple((f"{capture}x", path) for capture, path in scope.paths))
    assert not foreign.is_of(scope.marker(statement), statement)


def test_captures_of_one_run_share_a_path() -> None:
    scope = Scope((("cap_1", "write"), ("cap_2", "write")))
    assert scope.prefix == "cap_1+cap_2/write"
    assert scope.marker("3") == "cap_1+cap_2/write/3"
    nested = Scope((("cap_1", "days/7/write"), ("cap_2", "write")))
    assert nested.marker("3") == "cap_1/days/7/write/3|cap_2/write/3"
