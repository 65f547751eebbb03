"""Logs of steps."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from calve.engine.views.lookup import LATEST
from calve.engine.views.step_logs import LogRequest, read_log
from calve.server.dependencies import LARGEST, Json, Number, Orchestrating

router = APIRouter(prefix="/workflows/{workflow_id}/instances/{instance_id}", tags=["logs"])

Offset = Annotated[
    int, Query(description="The byte to read from: `next_offset` of the piece before.", le=LARGEST)
]
Tail = Annotated[int | None, Query(description="The last so many lines instead.", le=100_000)]


@router.get("/steps/{step_id}/logs")
def step_log(
    orchestrator: Orchestrating,
    workflow_id: str,
    instance_id: Number,
    step_id: str,
    run: Annotated[
        str | None, Query(description="A run by its number; otherwise the newest with the step.")
    ] = None,
    attempt: str = LATEST,
    offset: Offset = 0,
    tail: Tail = None,
) -> Json:
    """A piece of the log of a step; `complete` is true once there will be no more."""
    return _read(orchestrator, LogRequest(workflow_id, instance_id, step_id, run, attempt, offset, tail))


@router.get("/runs/{run_id}/steps/{step_id}/attempts/{attempt}/logs")
def attempt_log(
    orchestrator: Orchestrating,
    workflow_id: str,
    instance_id: Number,
    run_id: str,
    step_id: str,
    attempt: str,
    offset: Offset = 0,
    tail: Tail = None,
) -> Json:
    """A piece of the log of one attempt."""
    return _read(orchestrator, LogRequest(workflow_id, instance_id, step_id, run_id, attempt, offset, tail))


def _read(orchestrator: Orchestrating, request: LogRequest) -> Json:
    with orchestrator.database.read() as connection:
        return read_log(connection, orchestrator.settings, request)
