"""Lineage: which workflows read and write which tables."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from calve.backfill.lineage.describing import Kind, Way, describe, describe_all
from calve.server.dependencies import Json, Orchestrating

router = APIRouter(prefix="/lineage", tags=["lineage"])

Direction = Annotated[Way | None, Query(description="Only this way; both without it.")]
Columns = Annotated[bool, Query(description="Column edges too, with the columns that the tables have now.")]


@router.get("")
def lineage(
    orchestrator: Orchestrating,
    name: Annotated[str | None, Query(description="Only around this table or workflow.")] = None,
    direction: Direction = None,
    columns: Columns = False,
) -> Json:
    """The graph of all tables and workflows, or what is around one of them."""
    if name is None:
        return describe_all(orchestrator.database, orchestrator.settings)
    return describe(orchestrator.database, orchestrator.settings, name, way=direction, columns=columns)


@router.get("/tables/{table}")
def table_lineage(
    orchestrator: Orchestrating, table: str, direction: Direction = None, columns: Columns = False
) -> Json:
    """What a table is made from, and what is made from it."""
    database, settings = orchestrator.database, orchestrator.settings
    return describe(database, settings, table, kind=Kind.TABLE, way=direction, columns=columns)


@router.get("/workflows/{workflow_id}")
def workflow_lineage(
    orchestrator: Orchestrating, workflow_id: str, direction: Direction = None, columns: Columns = False
) -> Json:
    """What a workflow reads and writes, and all that comes before and after it."""
    database, settings = orchestrator.database, orchestrator.settings
    return describe(database, settings, workflow_id, kind=Kind.WORKFLOW, way=direction, columns=columns)
