"""What a stage downstream brings to its workflow: all that the workflow's own consumers have not taken yet.

From the moment that a stage publishes, the consumers that later stages serve see nothing after what was
there before. A later stage begins where its consumer has come, and accounts for it all when it is published
itself: nothing comes to a table out of order, and nothing is lost if the backfill is cancelled in between.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calve.backfill.plan import SourcePlan
from calve.backfill.stages.holding import refuse_cancelled
from calve.backfill.stages.work import Work
from calve.backfill.store import read_stages
from calve.errors import FailedError
from calve.lake import Segment, SourceTable, open_table
from calve.lake.commits import MAIN
from calve.ledger.holds import drop_hold, put_hold, settle_hold
from calve.ledger.records import CaptureRecord
from calve.steps.incremental.runs import abandonment

#: A table before and after what changed in it.
Stretch = tuple[int | None, int | None]


def take_over(work: Work) -> Work | None:
    """Fix from where to where each source is brought; None while a regular run is about to take of it."""
    if work.state.inputs is not None:
        return work
    published = _published(work)
    inputs: dict[str, Any] = {}
    for source in work.stage.plan.sources:
        if source.table in published:
            table = open_table(work.ledger.lake, source.table)
            if not _is_quiet(work, source, table):
                return None
            inputs[source.table] = _stretch(work, source, table, published[source.table])
    return work.save(work.stage.phase, replace(work.state, inputs=inputs))


def changed_inputs(work: Work) -> dict[str, Stretch]:
    """What has changed in the sources of a stage; without captures, all that was published to them."""
    if not work.stage.plan.sources:
        return _published(work)
    found = {name: (start, end) for name, (start, end) in (work.state.inputs or {}).items()}
    return {name: stretch for name, stretch in found.items() if stretch[0] != stretch[1]}


def account_for_inputs(work: Work) -> None:
    """The stage is published: its consumers have all that it was brought."""
    for source in work.stage.plan.sources:
        if source.table not in (work.state.inputs or {}):
            continue
        table = open_table(work.ledger.lake, source.table)
        stretch = Segment(*(work.state.inputs or {})[source.table])
        with work.orchestrator.database.write() as connection:
            for consumer in source.consumers:
                settle_hold(connection, consumer, table.uuid, MAIN, work.backfill.id, stretch, table.metadata)


def _published(work: Work) -> dict[str, Stretch]:
    """What the stages before this one published, by table; only tables that they changed are in it."""
    with work.orchestrator.database.read() as connection:
        stages = read_stages(connection, work.backfill)
    return {
        table: (target.published_from, target.published_to)
        for ordinal in work.stage.plan.after
        for table, target in stages[ordinal].state.targets.items()
        if target.published_to is not None and target.published_to != target.published_from
    }


def _is_quiet(work: Work, source: SourcePlan, table: SourceTable) -> bool:
    """Let the consumers begin no further capture; true once none is under way. Raises CAPTURE_UNFINISHED."""
    is_abandoned = abandonment(work.ledger.database)
    quiet = True
    for consumer in source.consumers:
        _hold_here(work, consumer, table)
        for record in work.ledger.open_captures_of(consumer, source.table):
            if record.run_ref is not None and not is_abandoned(record.run_ref):
                quiet = False
                continue
            if work.ledger.landed(record.id):
                raise _unfinished(work, record)
            work.ledger.release(record.id, f"backfill {work.backfill.id} brings its changes")
            _hold_here(work, consumer, table)
    return quiet


def _hold_here(work: Work, consumer: str, table: SourceTable) -> None:
    reached = work.ledger.accounted_up_to(consumer, str(table.name))
    with work.orchestrator.database.write() as connection:
        refuse_cancelled(connection, work)
        if reached is None:
            drop_hold(connection, consumer, table.uuid, MAIN, work.backfill.id)
        else:
            put_hold(connection, consumer, table.uuid, MAIN, work.backfill.id, reached)


def _stretch(work: Work, source: SourcePlan, table: SourceTable, published: Stretch) -> Stretch:
    """From where the consumer has come to what was published; what was published if it has come nowhere."""
    reached = work.ledger.accounted_up_to(source.consumer, source.table)
    if reached is None or published[1] is None:
        return published
    if not table.metadata.has_snapshot(reached):
        work.say(f"{source.table}: the state that {source.consumer} is at has expired")
        return published
    past = reached == published[1] or table.metadata.is_ancestor(published[1], reached)
    return (published[1], published[1]) if past else (reached, published[1])


def _unfinished(work: Work, record: CaptureRecord) -> FailedError:
    return FailedError(
        "CAPTURE_UNFINISHED",
        f"{record.run_ref} ended without a commit after it had written what capture {record.id} gave it: "
        "only a run that goes on with it knows what is left",
        f"restart that run, then `calve backfill retry {work.backfill.id}`",
    )
