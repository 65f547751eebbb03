"""Backfills in the state: read, added, and moved on under compare-and-set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, and_, insert, select, update

from calve.backfill.plan import ChunkPlan, Plan
from calve.backfill.records import Backfill, Chunk, Stage, StageState
from calve.backfill.rows import backfill_of, chunk_of, dump, stage_of, state_text
from calve.backfill.statuses import BackfillStatus, Phase, may_enter, require_move
from calve.engine.views.newest import read_newest
from calve.errors import ConflictError, FailedError, NotFoundError
from calve.state.backfill import backfill_chunks, backfill_stages, backfills
from calve.state.clock import now_ms
from calve.state.orchestration import runs

BACKFILLS_LIMIT = 1_000


def add_backfill(
    connection: Connection,
    plan: Plan,
    *,
    author: str,
    reason: str | None,
    auto_publish: bool,
    concurrency: int,
) -> Backfill:
    """Keep a plan."""
    now = now_ms()
    made = connection.execute(
        insert(backfills)
        .values(
            workflow_id=plan.workflow_id,
            status=BackfillStatus.PLANNED.value,
            plan=dump(plan.to_json()),
            reason=reason,
            author=author,
            auto_publish=auto_publish,
            concurrency=concurrency,
            created_at=now,
        )
        .returning(backfills.c.id)
    ).scalar_one()
    for ordinal, stage in enumerate(plan.stages):
        connection.execute(
            insert(backfill_stages).values(
                backfill_id=made,
                ordinal=ordinal,
                workflow_id=stage.workflow_id,
                phase=Phase.PLANNED.value,
                state=state_text(StageState()),
                version=1,
                updated_at=now,
            )
        )
    return read_backfill(connection, made)


def read_backfill(connection: Connection, backfill_id: int, lock: bool = False) -> Backfill:
    """A backfill by its number. Raises BACKFILL_NOT_FOUND."""
    query = select(backfills).where(backfills.c.id == backfill_id)
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFoundError(
            "BACKFILL_NOT_FOUND", f"there is no backfill {backfill_id}", "see `calve backfill list`"
        )
    return backfill_of(row)


def list_backfills(
    connection: Connection, limit: int = 100, cursor: str | None = None
) -> tuple[list[Backfill], str | None]:
    """The newest backfills after `cursor`, and the cursor of those after them."""
    rows, following = read_newest(
        connection, select(backfills), [backfills.c.id], limit, BACKFILLS_LIMIT, cursor
    )
    return [backfill_of(row) for row in rows], following


def live_backfills(connection: Connection) -> list[Backfill]:
    """All backfills that are under way, the newest first."""
    over = (BackfillStatus.DONE.value, BackfillStatus.CANCELLED.value, BackfillStatus.PLANNED.value)
    query = select(backfills).where(backfills.c.status.not_in(over)).order_by(backfills.c.id.desc())
    return [backfill_of(row) for row in connection.execute(query)]


def change_status(
    connection: Connection, backfill_id: int, wanted: BackfillStatus, verb: str, **values: Any
) -> Backfill:
    """Move a backfill to another status, if it may go there. Raises BACKFILL_<STATUS>."""
    found = read_backfill(connection, backfill_id, lock=True)
    require_move(backfill_id, found.status, wanted, verb)
    if wanted.is_over or wanted is BackfillStatus.FAILED:
        values.setdefault("ended_at", now_ms())
    change_backfill(connection, backfill_id, status=wanted.value, **values)
    return read_backfill(connection, backfill_id)


def keep_status(
    connection: Connection, backfill_id: int, wanted: BackfillStatus, verb: str, **values: Any
) -> Backfill:
    """As `change_status`; a backfill that has the status already is left as it is.

    For what has to be done again, as a whole, if somebody died in the middle of it.
    """
    found = read_backfill(connection, backfill_id, lock=True)
    if found.status is wanted:
        return found
    return change_status(connection, backfill_id, wanted, verb, **values)


def change_backfill(connection: Connection, backfill_id: int, **values: Any) -> None:
    """Change what is no status."""
    connection.execute(update(backfills).where(backfills.c.id == backfill_id).values(values))


def read_stages(connection: Connection, backfill: Backfill) -> list[Stage]:
    """The stages of a backfill, in order."""
    query = select(backfill_stages).where(backfill_stages.c.backfill_id == backfill.id)
    rows = connection.execute(query.order_by(backfill_stages.c.ordinal))
    return [stage_of(row, backfill.plan) for row in rows]


def read_stage(connection: Connection, backfill: Backfill, ordinal: int) -> Stage:
    """One stage."""
    where = and_(backfill_stages.c.backfill_id == backfill.id, backfill_stages.c.ordinal == ordinal)
    return stage_of(connection.execute(select(backfill_stages).where(where)).one(), backfill.plan)


def save_stage(connection: Connection, stage: Stage, phase: Phase, state: StageState) -> Stage:
    """Move a stage on. Raises STAGE_MOVED if somebody else did since it was read."""
    if not may_enter(stage.phase, phase):
        raise FailedError(
            "PHASE_ILLEGAL",
            f"stage {stage.ordinal} of backfill {stage.backfill_id} is {stage.phase}, not before {phase}",
            "report this with the backfill's status",
        )
    now = now_ms()
    changed = connection.execute(
        update(backfill_stages)
        .where(
            backfill_stages.c.backfill_id == stage.backfill_id,
            backfill_stages.c.ordinal == stage.ordinal,
            backfill_stages.c.version == stage.version,
        )
        .values(phase=phase.value, state=state_text(state), version=stage.version + 1, updated_at=now)
    )
    if changed.rowcount != 1:
        raise ConflictError(
            "STAGE_MOVED",
            f"stage {stage.ordinal} of backfill {stage.backfill_id} was moved on by somebody else",
            "look at it again",
        )
    return replace(stage, phase=phase, state=state, version=stage.version + 1, updated_at=now)


def add_chunks(
    connection: Connection,
    backfill: Backfill,
    stage: int,
    round_: int,
    chunks: Iterable[tuple[int, ChunkPlan]],
) -> None:
    """Keep the chunks of a round, by their numbers; those that are there stay as they are."""
    key = (backfill_chunks.c.backfill_id == backfill.id, backfill_chunks.c.stage == stage)
    there = select(backfill_chunks.c.ordinal).where(*key, backfill_chunks.c.round == round_)
    known = set(connection.execute(there).scalars())
    new = [
        {
            "backfill_id": backfill.id,
            "stage": stage,
            "ordinal": ordinal,
            "round": round_,
            "chunk": dump({"lower": chunk.lower, "upper": chunk.upper, "records": chunk.records}),
            "chunk_workflow": backfill.chunk_workflow(stage),
        }
        for ordinal, chunk in chunks
        if ordinal not in known
    ]
    if new:
        connection.execute(insert(backfill_chunks), new)


def note_instance(connection: Connection, chunk: Chunk, instance_id: int) -> None:
    """Remember which instance a chunk is."""
    connection.execute(
        update(backfill_chunks)
        .where(
            backfill_chunks.c.backfill_id == chunk.backfill_id,
            backfill_chunks.c.stage == chunk.stage,
            backfill_chunks.c.ordinal == chunk.ordinal,
            backfill_chunks.c.round == chunk.round,
        )
        .values(instance_id=instance_id)
    )


def read_chunks(connection: Connection, backfill_id: int, stage: int | None = None) -> list[Chunk]:
    """The chunks with the status of their runs; of one that was written again only the newest round."""
    run = and_(
        runs.c.workflow_id == backfill_chunks.c.chunk_workflow,
        runs.c.instance_id == backfill_chunks.c.instance_id,
        runs.c.latest,
    )
    query = (
        select(backfill_chunks, runs.c.status, runs.c.started_at, runs.c.ended_at)
        .select_from(backfill_chunks.outerjoin(runs, run))
        .where(backfill_chunks.c.backfill_id == backfill_id)
        .order_by(backfill_chunks.c.stage, backfill_chunks.c.ordinal, backfill_chunks.c.round)
    )
    if stage is not None:
        query = query.where(backfill_chunks.c.stage == stage)
    newest = {(row.stage, row.ordinal): chunk_of(row) for row in connection.execute(query)}
    return list(newest.values())


def live_stages(
    connection: Connection, but_not: int, workflows: Sequence[str]
) -> list[tuple[Backfill, Stage]]:
    """The stages of backfills under way on any of these workflows."""
    return [
        (backfill, stage)
        for backfill in live_backfills(connection)
        if backfill.id != but_not
        for stage in read_stages(connection, backfill)
        if stage.plan.workflow_id in workflows and stage.phase is not Phase.PUBLISHED
    ]
