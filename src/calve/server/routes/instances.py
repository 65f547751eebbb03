"""Instances and their runs: look at them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from calve.engine.views import run_documents as views
from calve.engine.views import runs as short_views
from calve.engine.views.inline import inline_path as find_inline_path
from calve.engine.views.lookup import LATEST
from calve.server.dependencies import Json, Number, Orchestrating, Page

router = APIRouter(prefix="/workflows", tags=["instances"])

_INSTANCE = "/{workflow_id}/instances/{instance_id}"
Aggregated = Annotated[bool, Query(description="With what all runs of the instance reached.")]


@router.get("/{workflow_id}/instances")
def instances(
    orchestrator: Orchestrating, workflow_id: str, page: Page, aggregated: Aggregated = True
) -> Json:
    """Instances with their latest runs, the newest first."""
    with orchestrator.database.read() as connection:
        return views.instances_page(connection, workflow_id, page, aggregated)


@router.get(_INSTANCE)
def instance(
    orchestrator: Orchestrating, workflow_id: str, instance_id: Number, enriched: bool = True
) -> Json:
    """An instance: its latest run, with what all its runs together have reached."""
    with orchestrator.database.read() as connection:
        return views.instance_document(connection, workflow_id, instance_id)


@router.get(_INSTANCE + "/runs")
def runs(orchestrator: Orchestrating, workflow_id: str, instance_id: Number, page: Page) -> Json:
    """The runs of an instance, the newest first."""
    with orchestrator.database.read() as connection:
        return views.runs_page(connection, workflow_id, instance_id, page)


@router.get(_INSTANCE + "/runs/{run_id}")
def run(
    orchestrator: Orchestrating,
    workflow_id: str,
    instance_id: Number,
    run_id: str,
    enriched: bool = True,
    aggregated: Aggregated = False,
) -> Json:
    """A run by its number, or the `latest`."""
    with orchestrator.database.read() as connection:
        if aggregated and run_id.lower() == LATEST:
            return views.instance_document(connection, workflow_id, instance_id)
        return views.run_document(connection, workflow_id, instance_id, run_id)


@router.get(_INSTANCE + "/runs/{run_id}/summary")
def summary(orchestrator: Orchestrating, workflow_id: str, instance_id: Number, run_id: str) -> Json:
    """A run in short: its status, and status and params of each step."""
    with orchestrator.database.read() as connection:
        return short_views.run_summary(connection, workflow_id, instance_id, run_id)


@router.get(_INSTANCE + "/inline-path")
def inline_path(orchestrator: Orchestrating, workflow_id: str, instance_id: Number) -> list[Json]:
    """Where an iteration of a loop belongs: the instances around it, the outermost first, and itself."""
    with orchestrator.database.read() as connection:
        return find_inline_path(connection, workflow_id, instance_id)
