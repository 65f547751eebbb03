"""Steps of instances: look at them."""

from __future__ import annotations

from fastapi import APIRouter

from calve.engine.views import steps as views
from calve.server.dependencies import Json, Number, Orchestrating

router = APIRouter(prefix="/workflows/{workflow_id}/instances/{instance_id}", tags=["steps"])


@router.get("/steps")
def instance_steps(orchestrator: Orchestrating, workflow_id: str, instance_id: Number) -> list[Json]:
    """Of every step of an instance, the newest attempt."""
    with orchestrator.database.read() as connection:
        return views.instance_steps(connection, workflow_id, instance_id)


@router.get("/steps/{step_id}")
def instance_step(
    orchestrator: Orchestrating, workflow_id: str, instance_id: Number, step_id: str, enriched: bool = True
) -> Json:
    """A step of an instance: its newest attempt."""
    with orchestrator.database.read() as connection:
        return views.instance_step(connection, workflow_id, instance_id, step_id)


@router.get("/runs/{run_id}/steps")
def run_steps(
    orchestrator: Orchestrating, workflow_id: str, instance_id: Number, run_id: Number
) -> list[Json]:
    """The steps of a run, which is named by its number."""
    with orchestrator.database.read() as connection:
        return views.run_steps(connection, workflow_id, instance_id, run_id)


@router.get("/runs/{run_id}/steps/{step_id}/attempts/{attempt}")
def step_attempt(
    orchestrator: Orchestrating,
    workflow_id: str,
    instance_id: Number,
    run_id: Number,
    step_id: str,
    attempt: str,
    enriched: bool = True,
) -> Json:
    """One attempt of a step, by its number, or the `latest`."""
    with orchestrator.database.read() as connection:
        return views.step_attempt(connection, workflow_id, instance_id, run_id, step_id, attempt)
