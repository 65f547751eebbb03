"""PUBLISHING: branches become main, whole, or what has to be written again is found."""

from __future__ import annotations

from dataclasses import replace

from calve.backfill.records import StageState
from calve.backfill.stages.branch_check import check_branches
from calve.backfill.stages.conflicting import Conflicts, find_conflicts, replay_all
from calve.backfill.stages.holding import hold_consumers
from calve.backfill.stages.inputs import account_for_inputs
from calve.backfill.stages.jobs import run_job
from calve.backfill.stages.published import find_published
from calve.backfill.stages.work import Work
from calve.backfill.statuses import Phase
from calve.backfill.world import check_targets
from calve.errors import CalveError, FailedError
from calve.lake import Segment, SourceTable, open_table
from calve.lake.branches import drop_branch, fast_forward
from calve.lake.commits import MAIN

MOST_ROUNDS = 5


def publish(work: Work) -> Work | None:
    """Bring all targets to main; None while a job of that is under way."""
    check_targets(work.ledger.lake, work.stage.plan)
    work = _note_published(work)
    tables = _unpublished(work)
    if work.state.branch is not None and tables:
        check_branches(work)
        conflicts = find_conflicts(work, tables)
        if conflicts.replay:
            return _replay(work, conflicts)
    for name, table in tables.items():
        try:
            stretch = _publish_one(work, name, table)
        except CalveError as error:
            if not cannot_be_moved(error):
                raise
            # Somebody wrote in the same moment: that is looked at anew. Else files alone do not do.
            return None if _has_moved_on(table) else _replay(work, replay_all(work))
        if stretch is None:
            return None
        work = _note(work, name, stretch)
    _drop_branches(work)
    account_for_inputs(work)
    return work.save(Phase.PUBLISHED, work.state)


def _unpublished(work: Work) -> dict[str, SourceTable]:
    return {
        name: open_table(work.ledger.lake, name)
        for name, target in work.state.targets.items()
        if target.published_to is None
    }


def _note_published(work: Work) -> Work:
    """Note what reached main just before a crash: it counts as published whatever becomes of the others."""
    for name, table in _unpublished(work).items():
        stretch = find_published(work, name, table)
        if stretch is not None:
            work = _note(work, name, stretch)
    return work


def _note(work: Work, name: str, stretch: Segment) -> Work:
    """Keep what was published. Consumers stay held until the stages that serve them are done."""
    start, end = stretch.from_snapshot_exclusive, stretch.to_snapshot_inclusive
    work = work.save(Phase.PUBLISHING, work.state.with_target(name, published_from=start, published_to=end))
    work.say(f"{name}: published, main went from {start} to {end}")
    return work


def _publish_one(work: Work, name: str, table: SourceTable) -> Segment | None:
    """What was published to a table; None if it is to be looked at again."""
    base, branch = work.state.targets[name].base, work.state.branch
    if branch is None:
        return Segment(base, table.metadata.current_snapshot_id(MAIN))
    if branch not in table.metadata.refs() and base is None:
        return Segment(None, None)
    hold_consumers(work, table)
    if _has_moved_on(table):
        return None
    head = table.metadata.current_snapshot_id(MAIN)
    if head == base:
        return Segment(base, fast_forward(table, branch, base))
    job = {
        "action": "rebase",
        "table": name,
        "branch": branch,
        "base_snapshot": base,
        "keep": None,
        "target_branch": MAIN,
        "marker": work.marker("publish"),
    }
    if run_job(work, f"publish/{name}/{head}", job) is None:
        return None
    return find_published(work, name, table.refresh())


def _has_moved_on(table: SourceTable) -> bool:
    """Whether main has moved since the table was opened."""
    opened = table.metadata.current_snapshot_id(MAIN)
    return table.refresh().metadata.current_snapshot_id(MAIN) != opened


def _replay(work: Work, conflicts: Conflicts) -> Work:
    """Begin a further round, for what cannot be put on main as it is.

    A target that is published stays so. Chunks write it again, on a branch that nobody publishes.
    """
    state = work.state
    if state.round >= MOST_ROUNDS:
        raise FailedError(
            "PUBLISH_CONTENDED",
            f"main moved in the same partitions {state.round} times while chunks were written",
            "pause the workflows that write the targets, then `calve backfill retry "
            f"{work.backfill.id}`; or leave the newest days out of the range",
        )
    work.say(f"main has moved: {len(conflicts.replay)} chunks are written again on top of it")
    bases = {name: target.base for name, target in state.targets.items()}
    published = {name: x for name, x in state.targets.items() if x.published_to is not None}
    reports = {name: found for name, found in (state.reports or {}).items() if name in published}
    fresh = StageState(
        round=state.round + 1,
        approved=state.approved,
        targets=published,
        inputs=state.inputs,
        reports=reports or None,
        old_branches=(*state.old_branches, *([state.branch] if state.branch else [])),
        replay={
            "chunks": list(conflicts.replay),
            "keep": {name: list(found) for name, found in conflicts.keep.items()},
            "branch": state.branch,
            "bases": bases,
        },
    )
    return work.save(Phase.REPLAYING, fresh)


def _drop_branches(work: Work) -> None:
    for name in work.state.targets:
        table = open_table(work.ledger.lake, name)
        for branch in (*work.state.old_branches, work.state.branch):
            if branch is not None and branch in table.metadata.refs():
                drop_branch(table, branch)


def give_up_replay(state: StageState) -> StageState:
    """The same replay, without anything of the former branches."""
    return replace(state, replay={**(state.replay or {}), "keep": {}, "chunks": None})


def cannot_be_moved(error: CalveError) -> bool:
    """Whether what a branch has cannot be put on main, or on another branch, as it is."""
    return error.code in ("MAIN_MOVED", "REBASE_IMPOSSIBLE")
