"""Backfills: planned, run, watched, published."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query

from calve.backfill.acting import PlanBody, act, make_plan, plan_document
from calve.backfill.service import Backfills
from calve.backfill.store import BACKFILLS_LIMIT
from calve.server.dependencies import Caller, Json, Number, Orchestrating

router = APIRouter(tags=["backfills"])


@router.post("/backfills")
def plan(orchestrator: Orchestrating, caller: Caller, body: PlanBody) -> Json:
    """Plan a backfill: stored, explained, and not yet run."""
    return make_plan(Backfills(orchestrator), body, caller)


@router.get("/backfills")
def list_backfills(
    orchestrator: Orchestrating,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=BACKFILLS_LIMIT)] = 100,
) -> Json:
    """The newest backfills."""
    return Backfills(orchestrator).list_page(limit, cursor)


@router.get("/backfills/{backfill_id}")
def status(orchestrator: Orchestrating, backfill_id: Number) -> Json:
    """How a backfill stands: stages, chunks with their runs, what is left."""
    return Backfills(orchestrator).status(backfill_id)


@router.get("/backfills/{backfill_id}/plan")
def show_plan(orchestrator: Orchestrating, backfill_id: Number) -> Json:
    """The plan as data and in words."""
    return plan_document(Backfills(orchestrator).get(backfill_id))


@router.get("/backfills/{backfill_id}/report")
def report(orchestrator: Orchestrating, backfill_id: Number) -> Json:
    """What a backfill did, as Markdown and as data."""
    backfills = Backfills(orchestrator)
    return {"markdown": backfills.report(backfill_id), "status": backfills.status(backfill_id)}


@router.post("/backfills/{backfill_id}/actions/{action}")
def act_on_backfill(
    orchestrator: Orchestrating,
    caller: Caller,
    backfill_id: Number,
    action: Annotated[str, Path(description="What to do, as said above.")],
    options: Annotated[
        Json | None, Body(description="`auto_publish` to run, `later_too` to publish, `concurrency`.")
    ] = None,
) -> Json:
    """Run, pause, resume, retry, cancel, discard, validate or publish a backfill, or set its concurrency."""
    return act(Backfills(orchestrator), backfill_id, action, options or {}, caller)
