"""What of a branch can be published onto a main that has moved, and which chunks must run again.

Pure: partitions are whatever tells them apart, the id of their spec first.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from calve.lake.deletes import PartitionKey


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """`keep` are the partitions whose files go onto main as the branch has them, `replay` the chunks
    to run again, in order, and `clear` the partitions that were cleared for them and must be again."""

    keep: frozenset[PartitionKey]
    replay: tuple[int, ...]
    clear: frozenset[PartitionKey] = frozenset()


def plan_publish(
    main: AbstractSet[PartitionKey],
    chunks: Mapping[int, AbstractSet[PartitionKey]],
    unpartitioned_specs: AbstractSet[int] = frozenset(),
    cleared: AbstractSet[PartitionKey] = frozenset(),
) -> PublishPlan:
    """Plan from the partitions that main touched since the base, and those that each chunk touched.

    A chunk is replayed if it touched a partition that main touched, or one that a replayed chunk
    touched. `cleared` are partitions that the branch emptied before any chunk ran. Where partitions
    cannot be compared, as specs differ or there is but one, any touch of main replays everything.
    """
    branch = frozenset(cleared).union(*chunks.values())
    if not main:
        return PublishPlan(branch, ())
    specs = {spec_id for spec_id, _ in main | branch}
    if len(specs) > 1 or specs & unpartitioned_specs:
        return PublishPlan(frozenset(), tuple(sorted(chunks)), frozenset(cleared))
    lost, replayed = _spread(main, chunks)
    keep = branch - lost
    return PublishPlan(keep, tuple(sorted(replayed)), frozenset(cleared) - keep)


def _spread(
    main: AbstractSet[PartitionKey], chunks: Mapping[int, AbstractSet[PartitionKey]]
) -> tuple[set[PartitionKey], set[int]]:
    """All partitions and chunks that main's changes reach, from chunk to partition to chunk."""
    by_partition: dict[PartitionKey, list[int]] = {}
    for number, touched in chunks.items():
        for partition in touched:
            by_partition.setdefault(partition, []).append(number)
    lost, replayed = set(main), set[int]()
    waiting = list(main)
    while waiting:
        for number in by_partition.get(waiting.pop(), ()):
            if number not in replayed:
                replayed.add(number)
                fresh = chunks[number] - lost
                lost |= fresh
                waiting += fresh
    return lost, replayed
