"""The plan of a backfill: its stages as a graph, and what they read together."""

from __future__ import annotations

from collections.abc import Sequence

from calve.backfill.plan import Plan, StagePlan
from calve.backfill.records import Backfill
from calve.backfill.statuses import BackfillStatus, Phase
from calve.server.dependencies import Json
from calve.ui.drawing.graph import draw_graph

#: How phases are coloured: by the statuses that the stylesheet knows.
_PHASE_STATUSES = {
    Phase.PLANNED: "NONE",
    Phase.WAITING: "PAUSED",
    Phase.PUBLISHED: "PUBLISHED",
}


def phase_status(backfill: Backfill, phase: Phase) -> str:
    """The status that the phase of a stage is shown as: one under way stands as its backfill does."""
    if backfill.status is BackfillStatus.CANCELLED and phase is not Phase.PUBLISHED:
        return "NONE"
    under_way = {BackfillStatus.FAILED: "FAILED", BackfillStatus.PAUSED: "PAUSED"}
    return _PHASE_STATUSES.get(phase) or under_way.get(backfill.status, "RUNNING")


def plan_graph(stages: Sequence[Json]) -> Json:
    """The stages in their order, each with its phase."""
    notes = {str(stage["stage"]): _note(stage) for stage in stages}
    labels = {str(stage["stage"]): stage["workflow_id"] for stage in stages}
    edges = [(str(before), str(stage["stage"])) for stage in stages for before in stage["after"]]
    facts = {
        key: {
            "href": f"#stage-{key}",
            "status": "FAILED" if stage["failed"] else stage["phase_status"],
            "note": notes[key],
            "title": labels[key],
        }
        for key, stage in zip(labels, stages, strict=True)
    }
    return {"picture": draw_graph(labels, edges, notes).to_json(), "facts": facts}


def _note(stage: Json) -> str:
    phase = str(stage["phase"]).lower()
    failed = f", {stage['failed']} failed" if stage["failed"] else ""
    return f"{phase}, {stage['done']} of {stage['total']} chunks{failed}" if stage["total"] else phase


def plan_totals(plan: Plan) -> Json:
    """What all stages read, as far as it is known before they run."""
    known = [stage for stage in plan.stages if stage.chunks and stage.records is not None]
    seconds = [stage.seconds for stage in plan.stages if stage.seconds is not None]
    return {
        "chunks": sum(len(stage.chunks) for stage in plan.stages),
        "targets": sum(len(stage.targets) for stage in plan.stages),
        "files": sum(stage.files or 0 for stage in known) if known else None,
        "records": sum(stage.records or 0 for stage in known) if known else None,
        "bytes": sum(stage.bytes or 0 for stage in known) if known else None,
        "ms": sum(seconds) * 1000 if seconds else None,
        "warnings": list(plan.warnings),
        "order": plan.order.value,
        "on_branch": plan.on_branch,
    }


def stage_plan(plan: StagePlan) -> Json:
    """What a stage reads and changes."""
    return {
        "sources": [{"table": source.table, "column": source.column} for source in plan.sources],
        "writes": [
            {"table": target.table, "clears": target.clear_column, "why_not": target.why_not_cleared}
            for target in plan.targets
        ],
        "planned_chunks": len(plan.chunks),
        "files": plan.files if plan.chunks else None,
        "records": plan.records if plan.chunks else None,
        "bytes": plan.bytes if plan.chunks else None,
        "ms": None if plan.seconds is None else plan.seconds * 1000,
        "rows_per_second": plan.rows_per_second,
    }
