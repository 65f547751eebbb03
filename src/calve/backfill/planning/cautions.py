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
        found += _about_logic(ledger, stage)
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


def _about_logic(ledger: Ledger, stage: StagePlan) -> list[str]:
    """The workflow's definition is younger than what it made."""
    consumers = {consumer for source in stage.sources for consumer in source.consumers}
    if not consumers:
        return []
    first = select(func.min(captures.c.committed_at)).where(
        captures.c.consumer.in_(consumers), captures.c.status == Status.COMMITTED.value
    )
    pushed = select(workflow_versions.c.created_at).where(
        workflow_versions.c.workflow_id == stage.workflow_id, workflow_versions.c.version == stage.version
    )
    with ledger.database.read() as connection:
        began, made = connection.execute(first).scalar(), connection.execute(pushed).scalar()
    if began is None or made is None or made <= began:
        return []
    what = f"version {stage.version} of '{stage.workflow_id}' was pushed on {to_iso(made)}"
    return [f"{what}, after history may have been processed first: results will be those of the new logic"]


def _about_others(ledger: Ledger, plan: Plan) -> list[str]:
    with ledger.database.read() as connection:
        others = live_stages(connection, 0, [stage.workflow_id for stage in plan.stages])
    return [
        f"backfill {backfill.id} is {backfill.status.value.lower()} on '{stage.plan.workflow_id}' too: "
        "this one cannot start before it is over"
        for backfill, stage in others
    ]
