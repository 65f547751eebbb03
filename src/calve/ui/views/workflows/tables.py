"""What a workflow reads and writes, and how far its consumers are behind."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from calve.backfill.lineage.loading import read_workflow
from calve.backfill.lineage.model import WorkflowTables
from calve.engine.orchestrator import Orchestrator
from calve.errors import CalveError
from calve.server.dependencies import Json
from calve.settings import Settings


def tables_of(connection: Connection, settings: Settings, workflow_id: str) -> Json:
    """The tables of a workflow, from its definition: read, written, captured, and what could not be told."""
    found = read_workflow(connection, settings, workflow_id) or WorkflowTables(workflow_id, 0)
    return {
        key: value
        for key, value in found.to_json().items()
        if key in ("reads", "writes", "captures", "calls", "unknown")
    }


def lag_of(orchestrator: Orchestrator, captures: list[Json]) -> list[Json]:
    """How far each consumer is behind in each table; a table that cannot be read gives its error instead."""
    consumers = dict.fromkeys(one["consumer"] for one in captures if one["consumer"])
    return [line for consumer in consumers for line in _lag(orchestrator, consumer)]


def _lag(orchestrator: Orchestrator, consumer: str) -> list[dict[str, Any]]:
    try:
        return orchestrator.lag(consumer=consumer)
    except CalveError as error:
        return [{"consumer": consumer, "table": None, "error": error.to_json()}]
