"""Rows of the state as records, and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from calve.backfill.plan import Plan
from calve.backfill.records import Backfill, Chunk, Stage, StageState, TargetState
from calve.backfill.statuses import BackfillStatus, Phase


def dump(document: Any) -> str:
    """A document as the state keeps it."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def backfill_of(row: Any) -> Backfill:
    """A row of `backfills`."""
    return Backfill(
        id=row.id,
        plan=Plan.from_json(json.loads(row.plan)),
        status=BackfillStatus(row.status),
        author=row.author,
        reason=row.reason,
        auto_publish=row.auto_publish,
        concurrency=row.concurrency,
        instance_id=row.instance_id,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def stage_of(row: Any, plan: Plan) -> Stage:
    """A row of `backfill_stages`."""
    raw = json.loads(row.state)
    targets = {name: TargetState(**target) for name, target in raw["targets"].items()}
    return Stage(
        backfill_id=row.backfill_id,
        ordinal=row.ordinal,
        plan=plan.stages[row.ordinal],
        phase=Phase(row.phase),
        state=StageState(**{**raw, "targets": targets, "old_branches": tuple(raw["old_branches"])}),
        version=row.version,
        updated_at=row.updated_at,
    )


def state_text(state: StageState) -> str:
    """What the state keeps of a stage."""
    return dump(asdict(state))


def chunk_of(row: Any) -> Chunk:
    """A row of `backfill_chunks`, with the run of its instance where it was joined."""
    raw = json.loads(row.chunk)
    return Chunk(
        backfill_id=row.backfill_id,
        stage=row.stage,
        ordinal=row.ordinal,
        round=row.round,
        lower=raw["lower"],
        upper=raw["upper"],
        records=raw["records"],
        workflow_id=row.chunk_workflow,
        instance_id=row.instance_id,
        status=row.status,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )
