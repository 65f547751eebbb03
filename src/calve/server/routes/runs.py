"""Runs in short, over all workflows; loops laid flat."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from calve.engine.views import flatten as flat
from calve.engine.views import run_list
from calve.engine.views.pages import PAGE_LIMIT
from calve.server.dependencies import Json, Number, Orchestrating, within

router = APIRouter(tags=["instances"])

_FLAT = "/views/flatten/workflows/{workflow_id}/instances/{instance_id}/runs/{run_id}/steps/{step_id}"


@router.get("/runs")
def list_runs(
    orchestrator: Orchestrating,
    workflow_id: Annotated[str | None, Query(description="Only of this workflow.")] = None,
    status: Annotated[str | None, Query(description="Only in this status, such as `FAILED`.")] = None,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
    limit: Annotated[int, within(run_list.RUNS_LIMIT)] = 20,
) -> Json:
    """The newest runs, of one workflow or of all.

    A page looks at so many runs at most: it may hold fewer than `limit`, and is the last one only if
    `next_cursor` is null.
    """
    wanted = run_list.Wanted.parse(workflow_id, status, cursor, limit)
    with orchestrator.database.read() as connection:
        return run_list.list_runs(connection, wanted)


@router.get(_FLAT)
def iterations(
    orchestrator: Orchestrating,
    workflow_id: str,
    instance_id: Number,
    run_id: Number,
    step_id: str,
    first: Annotated[int, Query(description="So many iterations.")] = PAGE_LIMIT,
    cursor: Annotated[str | None, Query(description="`end_cursor` of the page before.")] = None,
    statuses: Annotated[list[str] | None, Query(description="Only in these statuses.")] = None,
) -> Json:
    """The iterations of a loop, or of a step inside loops, in their order."""
    with orchestrator.database.read() as connection:
        place = (workflow_id, instance_id, run_id)
        return flat.iterations_page(
            connection, place, step_id, limit=first, cursor=cursor, statuses=statuses or ()
        )


@router.get(_FLAT + "/iterations/{rank}")
def iteration(
    orchestrator: Orchestrating,
    workflow_id: str,
    instance_id: Number,
    run_id: Number,
    step_id: str,
    rank: str,
) -> Json:
    """One iteration by its rank."""
    with orchestrator.database.read() as connection:
        return flat.one_iteration(connection, (workflow_id, instance_id, run_id), step_id, rank)


@router.get(_FLAT + "/summary")
def iterations_summary(
    orchestrator: Orchestrating, workflow_id: str, instance_id: Number, run_id: Number, step_id: str
) -> Json:
    """How many iterations stand where."""
    with orchestrator.database.read() as connection:
        return flat.iterations_summary(connection, (workflow_id, instance_id, run_id), step_id)
