"""What a user should know before a plan is run."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import func, select

from calve.backfill.plan import Feeding, Plan, StagePlan
from calve.backfill.store import live_stages
from calve.ledger.ledger import Ledger
from calve.ledger.records import Status
from calve.state.clock import to_iso
from calve.state.orchestration import workflow_versions
from calve.state.schema import captures


def with_cautions(ledger: Ledger, plan: Plan) -> Plan:
    """The plan with all its warnings."""
    found = [*plan.warnings]
    if not any(chunk.files is None or chunk.files for chunk in plan.stages[0].chunks):
        found.append("no file of the sources overlaps the range: there is nothing to read")
    for at, stage in enumerate(plan.stages):
        found += _about_feeding(stage, at)
        found += _about_targets(stage)
    found += _about_logic(ledger, plan)
    found += _about_others(ledger, plan)
    return replace(plan, warnings=tuple(dict.fromkeys(found)))


def _about_feeding(stage: StagePlan, at: int) -> list[str]:
    if at == 0 or stage.feeding is not Feeding.RANGE:
        return []
    who = f"'{stage.workflow_id}' cannot take overwrites and deletes"
    return [f"{who}: it gets all rows of the days that changed, not the changed rows alone"]


def _about_targets(stage: StagePlan) -> list[str]:
    if stage.feeding is Feeding.NET:
        return []
    return [
        f"rows of the range stay in {target.table} while chunks write: {target.why_not_cleared}"
        for target in stage.targets
        if target.clear_column is None and target.why_not_cleared is not None
    ]


def _about_logic(ledger: Ledger, plan: Plan) -> list[str]:
    """Definitions are younger than what they made."""
    younger = [
        f"version {stage.version} of '{stage.workflow_id}' ({to_iso(made)})"
        for stage in plan.stages
        if (made := _pushed_after(ledger, stage)) is not None
    ]
    if not younger:
        return []
    what = f"{', '.join(younger)} {'was' if len(younger) == 1 else 'were'} pushed"
    return [f"{what} after history may have been processed first: results will be those of the new logic"]


def _pushed_after(ledger: Ledger, stage: StagePlan) -> int | None:
    """When the version of a stage was pushed, if its workflow had processed something before."""
    consumers = {consumer for source in stage.sources for consumer in source.consumers}
    if not consumers:
        return None
    first = select(func.min(captures.c.committed_at)).where(
        captures.c.consumer.in_(consumers), captures.c.status == Status.COMMITTED.value
    )
    pushed = select(workflow_versions.c.created_at).where(
        workflow_versions.c.workflow_id == stage.workflow_id, workflow_versions.c.version == stage.version
    )
    with ledger.database.read() as connection:
        began, made = connection.execute(first).scalar(), connection.execute(pushed).scalar()
    return None if began is None or made is None or made <= began else int(made)


def _about_others(ledger: Ledger, plan: Plan) -> list[str]:
    with ledger.database.read() as connection:
        others = live_stages(connection, 0, [stage.workflow_id for stage in plan.stages])
    shared: dict[str, list[str]] = {}
    for backfill, stage in others:
        who = f"backfill {backfill.id} is {backfill.status.value.lower()}"
        shared.setdefault(who, []).append(f"'{stage.plan.workflow_id}'")
    return [
        f"{who} on {', '.join(names)} too: this one cannot start before it is over"
        for who, names in shared.items()
    ]
