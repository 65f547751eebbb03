"""How a backfill stands, for people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from calve.backfill.records import Backfill, Chunk, Stage
from calve.backfill.statuses import Phase
from calve.backfill.store import read_backfill, read_chunks, read_stages
from calve.engine.model.statuses import RunStatus
from calve.state.clock import now_ms, to_iso

_SECOND = 1000.0
Json = dict[str, Any]


def backfill_status(connection: Connection, backfill_id: int) -> Json:
    """The backfill with its stages and their chunks."""
    backfill = read_backfill(connection, backfill_id)
    chunks = read_chunks(connection, backfill_id)
    stages = [
        stage_status(backfill, stage, [chunk for chunk in chunks if chunk.stage == stage.ordinal])
        for stage in read_stages(connection, backfill)
    ]
    known = [stage["seconds_left"] for stage in stages if stage["seconds_left"] is not None]
    return {
        **backfill_summary(backfill),
        "stages": stages,
        "waiting_for_approval": any(stage["phase"] == Phase.WAITING.value for stage in stages),
        "seconds_left": sum(known) if known else None,
        "warnings": list(backfill.plan.warnings),
    }


def backfill_summary(backfill: Backfill) -> Json:
    """A backfill in a list."""
    plan = backfill.plan
    return {
        "backfill_id": backfill.id,
        "status": backfill.status.value,
        "workflow_id": plan.workflow_id,
        "column": plan.column,
        "from": plan.lower,
        "to": plan.upper,
        "reason": backfill.reason,
        "author": backfill.author,
        "on_branch": plan.on_branch,
        "auto_publish": backfill.auto_publish,
        "concurrency": backfill.concurrency,
        "driver": {"workflow_id": backfill.driver, "instance_id": backfill.instance_id},
        "created_at": to_iso(backfill.created_at),
        "started_at": to_iso(backfill.started_at),
        "ended_at": to_iso(backfill.ended_at),
    }


def stage_status(backfill: Backfill, stage: Stage, chunks: Sequence[Chunk]) -> Json:
    """One stage: what is done, what is left, and about how long that takes."""
    counts = Counter(chunk.status or "PLANNED" for chunk in chunks)
    return {
        "stage": stage.ordinal,
        "workflow_id": stage.plan.workflow_id,
        "version": stage.plan.version,
        "feeding": stage.plan.feeding.value,
        "after": list(stage.plan.after),
        "phase": stage.phase.value,
        "round": stage.state.round,
        "branch": stage.state.branch,
        "chunks": dict(counts),
        "done": counts[RunStatus.SUCCEEDED.value],
        "total": len(chunks) or len(stage.plan.chunks),
        "seconds_left": _seconds_left(backfill, stage, chunks),
        "targets": {
            table: {
                "base": target.base,
                "published_from": target.published_from,
                "published_to": target.published_to,
            }
            for table, target in stage.state.targets.items()
        },
        "validation": None if stage.state.reports is None else dict(stage.state.reports),
        "chunk_list": [chunk_status(chunk) for chunk in chunks],
    }


def chunk_status(chunk: Chunk) -> Json:
    """One chunk, with the run that it is."""
    return {
        "chunk": chunk.ordinal,
        "round": chunk.round,
        "from": chunk.lower,
        "to": chunk.upper,
        "records": chunk.records,
        "status": chunk.status or "PLANNED",
        "workflow_id": chunk.workflow_id,
        "instance_id": chunk.instance_id,
        "started_at": to_iso(chunk.started_at),
        "ended_at": to_iso(chunk.ended_at),
    }


def _seconds_left(backfill: Backfill, stage: Stage, chunks: Sequence[Chunk]) -> float | None:
    """By the mean of the chunks that are done; before there is one, by the speed of earlier runs."""
    if stage.phase is Phase.PUBLISHED:
        return 0.0
    left = [chunk for chunk in chunks if chunk.status != RunStatus.SUCCEEDED.value]
    took = [
        chunk.ended_at - chunk.started_at
        for chunk in chunks
        if chunk.status == RunStatus.SUCCEEDED.value and chunk.ended_at and chunk.started_at
    ]
    if took:
        busy = sum(now_ms() - chunk.started_at for chunk in left if chunk.started_at)
        mean = sum(took) / len(took)
        return max(mean * len(left) - busy, 0) / _SECOND / backfill.concurrency
    seconds = stage.plan.seconds
    return None if seconds is None else seconds / backfill.concurrency
