"""What main and a stage's branches have both changed since the branches were cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calve.backfill.conflicts import PublishPlan, plan_publish
from calve.backfill.spark.targets import BACKFILL_PROPERTY
from calve.backfill.stages.published import find_published
from calve.backfill.stages.work import Work
from calve.backfill.store import read_chunks
from calve.errors import NotFoundError
from calve.lake import SourceTable
from calve.lake.commits import MAIN
from calve.lake.deletes import PartitionKey
from calve.lake.stats import describe_partition
from calve.lake.touched import touched_by, touched_by_each
from calve.spark.once.scope import STATEMENT_PROPERTY


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The chunks to write again, and by target the partitions that stay as the branch has them."""

    replay: tuple[int, ...] = ()
    keep: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Sides:
    """What both sides of one target touched."""

    table: SourceTable
    main: frozenset[PartitionKey]
    chunks: Mapping[int, frozenset[PartitionKey]]
    cleared: frozenset[PartitionKey]


def find_conflicts(work: Work, tables: Mapping[str, SourceTable]) -> Conflicts:
    """What has to be written again, over all targets of the stage: a chunk is written to all of them."""
    if not any(_has_moved(work, name, table) for name, table in tables.items()):
        return Conflicts()
    everything = replay_all(work)
    numbers = list(everything.replay)
    sides = {name: _sides(work, name, table, numbers) for name, table in tables.items()}
    if any(side.main & (side.cleared - frozenset().union(*side.chunks.values())) for side in sides.values()):
        # Rows came where the branch has none any more: which chunk they belong to cannot be told.
        return everything
    plans = _plan_together(sides)
    replay = tuple(sorted({number for plan in plans.values() for number in plan.replay}))
    keep = {
        name: tuple(
            describe_partition(sides[name].table.metadata, *key) for key in sorted(plan.keep, key=str)
        )
        for name, plan in plans.items()
    }
    return Conflicts(replay, keep)


def replay_all(work: Work) -> Conflicts:
    """Nothing of the branches stays."""
    with work.orchestrator.database.read() as connection:
        chunks = read_chunks(connection, work.backfill.id, work.stage.ordinal)
    return Conflicts(tuple(chunk.ordinal for chunk in chunks))


def _plan_together(sides: Mapping[str, _Sides]) -> dict[str, PublishPlan]:
    """A plan for each target, such that all replay the same chunks."""
    replayed: set[int] = set()
    while True:
        plans = {}
        for name, side in sides.items():
            again = frozenset[PartitionKey]().union(*(side.chunks[x] for x in replayed if x in side.chunks))
            unpartitioned = side.table.metadata.unpartitioned_specs
            plans[name] = plan_publish(side.main | again, side.chunks, unpartitioned, side.cleared)
        found = {number for plan in plans.values() for number in plan.replay}
        if found <= replayed:
            return plans
        replayed |= found


def _has_moved(work: Work, name: str, table: SourceTable) -> bool:
    head = table.metadata.current_snapshot_id(MAIN)
    return head != work.state.targets[name].base and find_published(work, name, table) is None


def _sides(work: Work, name: str, table: SourceTable, numbers: list[int]) -> _Sides:
    base, branch = work.state.targets[name].base, work.state.branch or MAIN
    main = touched_by(table, base, table.metadata.current_snapshot_id(MAIN))
    chunks: dict[int, set[PartitionKey]] = {number: set() for number in numbers}
    cleared: set[PartitionKey] = set()
    if branch in table.metadata.refs():
        head = table.metadata.current_snapshot_id(branch)
        for snapshot in touched_by_each(table, base, head) if head is not None else ():
            if BACKFILL_PROPERTY in snapshot.summary and "/clear/" in snapshot.summary[BACKFILL_PROPERTY]:
                cleared |= snapshot.partitions
                continue
            # One that nobody can be told of may be any chunk's.
            number = _chunk_of(work, snapshot.summary.get(STATEMENT_PROPERTY))
            for owner in numbers if number is None else [number]:
                chunks.setdefault(owner, set()).update(snapshot.partitions)
    touched = {number: frozenset(found) for number, found in chunks.items()}
    return _Sides(table, frozenset(main.partitions), touched, frozenset(cleared))


def _chunk_of(work: Work, marker: str | None) -> int | None:
    """The chunk that a statement belongs to, by the consumer of the capture that it ran under."""
    if marker is None:
        return None
    capture_id = marker.partition("/")[0].partition("+")[0]
    try:
        consumer = work.ledger.get(capture_id).consumer
    except NotFoundError:
        return None
    parts = consumer.split("/")
    if parts[0] != work.backfill.driver or len(parts) < 3:
        return None
    return int(parts[2].partition(".")[0])
