"""PREPARING: branches, pins, chunks, and an empty range on the branch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calve.backfill.definitions import chunk_definition
from calve.backfill.plan import ChunkPlan, Order
from calve.backfill.records import TargetState
from calve.backfill.stages.changed import changed_chunks
from calve.backfill.stages.holding import hold_consumers
from calve.backfill.stages.inputs import account_for_inputs, take_over
from calve.backfill.stages.jobs import run_job
from calve.backfill.stages.pins import pin_sources
from calve.backfill.stages.work import Work
from calve.backfill.statuses import Phase
from calve.backfill.store import add_chunks, read_chunks
from calve.backfill.world import check_targets
from calve.engine.catalog.rows import has_workflow
from calve.engine.catalog.versions import load_definition
from calve.lake import open_table
from calve.lake.branches import create_branch, set_property

WAP_ENABLED = "write.wap.enabled"


def prepare(work: Work) -> Work | None:
    """Make ready what chunks need; None while a job of that is under way."""
    if work.state.sources is None:
        taken = take_over(work) if work.stage.plan.after else work
        if taken is None:
            return None
        work, chunks = taken, _chunks(taken)
        if not chunks:
            work.say("nothing that it reads has changed: there is nothing to do")
            account_for_inputs(work)
            return work.save(Phase.PUBLISHED, work.state)
        work = pin(cut_branches(work), list(enumerate(chunks)))
    return work.save(Phase.RUNNING, work.state) if clear_ranges(work) else None


def _chunks(work: Work) -> list[ChunkPlan]:
    planned = list(work.stage.plan.chunks) if not work.stage.plan.after else changed_chunks(work)
    # Numbers are given in the order in which chunks begin.
    return planned if work.backfill.plan.order is Order.OLDEST_FIRST else planned[::-1]


def cut_branches(work: Work) -> Work:
    """A branch of each target, from main as it is now. What main was is kept first: that is what counts."""
    check_targets(work.ledger.lake, work.stage.plan)
    tables = {target.table: open_table(work.ledger.lake, target.table) for target in work.stage.plan.targets}
    fresh = {name: table for name, table in tables.items() if name not in work.state.targets}
    if fresh:
        if not work.backfill.plan.on_branch:
            for table in fresh.values():
                hold_consumers(work, table)
        heads = {name: table.metadata.current_snapshot_id("main") for name, table in fresh.items()}
        branch = branch_name(work, work.state.round) if work.backfill.plan.on_branch else None
        targets = {**work.state.targets, **{name: TargetState(head) for name, head in heads.items()}}
        work = work.save(work.stage.phase, replace(work.state, branch=branch, targets=targets))
    if work.state.branch is None or work.state.branched:
        return work
    for name, table in tables.items():
        set_property(table, WAP_ENABLED, "true")
        target = work.state.targets[name]
        start = target.base if target.published_to is None else target.published_to
        if start is not None:
            create_branch(table.refresh(), work.state.branch, start)
    return work.save(work.stage.phase, replace(work.state, branched=True))


def branch_name(work: Work, round_: int) -> str:
    """The branch that a stage writes to in a round."""
    again = f"_r{round_}" if round_ > 1 else ""
    return f"backfill_{work.backfill.id}_{work.stage.ordinal}{again}"


def pin(work: Work, chunks: list[tuple[int, ChunkPlan]]) -> Work:
    """Sources as they are now, after the branch was cut: so no row of the target is newer than them."""
    state = replace(work.state, sources=pin_sources(work))
    with work.orchestrator.database.write() as connection:
        add_chunks(connection, work.backfill, work.stage.ordinal, state.round, chunks)
    push_chunk_workflow(work)
    return work.save(work.stage.phase, state)


def push_chunk_workflow(work: Work) -> None:
    """The workflow whose instances are the chunks; the same version of the definition as was planned."""
    workflow_id = work.backfill.chunk_workflow(work.stage.ordinal)
    plan = work.stage.plan
    with work.orchestrator.database.read() as connection:
        there = has_workflow(connection, workflow_id)
        definition = load_definition(connection, plan.workflow_id, plan.version)
    if not there:
        copy = chunk_definition(definition, workflow_id, work.backfill.concurrency)
        work.orchestrator.push(copy, work.backfill.author)


def clear_ranges(work: Work) -> bool:
    """Remove the rows of this round's chunks from the branches, where that is planned; true once done."""
    with work.orchestrator.database.read() as connection:
        chunks = read_chunks(connection, work.backfill.id, work.stage.ordinal)
    ranges = [(chunk.lower, chunk.upper) for chunk in chunks if chunk.round == work.state.round]
    jobs = {
        target.table: {
            "action": "clear",
            "table": target.table,
            "branch": work.state.branch,
            "column": target.clear_column,
            "ranges": [list(pair) for pair in joined(ranges)],
            "marker": work.marker("clear"),
        }
        for target in work.stage.plan.targets
        if target.clear_column is not None and work.state.targets[target.table].base is not None
    }
    answers = [run_job(work, f"clear/{table}", job) for table, job in jobs.items()]
    return all(answer is not None for answer in answers)


def joined(ranges: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Neighbouring ranges as one: a plan has many, and a condition should not."""
    merged: list[tuple[Any, Any]] = []
    for lower, upper in sorted(ranges, key=lambda pair: pair[0]):
        if merged and merged[-1][1] == lower:
            merged[-1] = (merged[-1][0], upper)
        else:
            merged.append((lower, upper))
    return merged
