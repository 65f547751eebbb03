"""What of a branch survives a main that moved, against a brute-force reading of the rule."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calve.backfill.conflicts import PublishPlan, plan_publish
from calve.lake.deletes import PartitionKey

Partitions = frozenset[PartitionKey]


def partitions(values: st.SearchStrategy[int]) -> st.SearchStrategy[Partitions]:
    return st.frozensets(values.map(lambda value: (0, (value,))), max_size=4)


VALUES = st.integers(0, 9)
CHUNKS = st.dictionaries(st.integers(0, 20), partitions(VALUES), max_size=7)


def replayed_by_the_rule(main: Partitions, chunks: dict[int, Partitions]) -> set[int]:
    """Look at every chunk over and over until nothing changes."""
    replayed: set[int] = set()
    while True:
        lost = main.union(*(chunks[number] for number in replayed))
        more = {number for number, touched in chunks.items() if touched & lost}
        if more == replayed:
            return replayed
        replayed = more


@given(partitions(VALUES), CHUNKS, partitions(VALUES))
def test_chunks_are_replayed_up_to_a_fixpoint_and_the_rest_is_kept(
    main: Partitions, chunks: dict[int, Partitions], cleared: Partitions
) -> None:
    plan = plan_publish(main, chunks, cleared=cleared)
    replayed = replayed_by_the_rule(main, chunks)
    lost = main.union(*(chunks[number] for number in replayed))
    assert plan.replay == tuple(sorted(replayed))
    assert plan.keep == cleared.union(*chunks.values()) - lost
    assert plan.clear == cleared & lost
    # A kept partition is as the branch has it: neither main nor a chunk that runs again wrote to it.
    for number, touched in chunks.items():
        assert (touched <= plan.keep) == (number not in replayed)


@given(partitions(VALUES), CHUNKS)
def test_where_partitions_cannot_be_compared_any_touch_of_main_replays_all(
    main: Partitions, chunks: dict[int, Partitions]
) -> None:
    everything = PublishPlan(frozenset(), tuple(sorted(chunks)))
    evolved = {number: frozenset((1, values) for _, values in touched) for number, touched in chunks.items()}
    if main and any(chunks.values()):
        assert plan_publish(main, evolved) == everything
    if main:
        assert plan_publish(main, chunks, unpartitioned_specs={0}) == everything


@given(CHUNKS)
def test_a_main_that_touched_nothing_keeps_everything(chunks: dict[int, Partitions]) -> None:
    kept = frozenset[PartitionKey]().union(*chunks.values())
    assert plan_publish(frozenset(), chunks, unpartitioned_specs={0}) == PublishPlan(kept, ())
