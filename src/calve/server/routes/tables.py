"""Tables: how far consumers are behind, and up to which time data is complete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from calve.server.bodies import ValidThroughBody
from calve.server.dependencies import Json, Orchestrating

router = APIRouter(tags=["tables"])


@router.get("/lag")
def lag(
    orchestrator: Orchestrating,
    consumer: Annotated[str | None, Query(description="Only of this consumer.")] = None,
    table: Annotated[str | None, Query(description="Only of this table.")] = None,
) -> Json:
    """What each consumer has not processed yet, in each table: snapshots, files, records, bytes, seconds."""
    return {"lag": orchestrator.lag(consumer, table)}


@router.get("/tables/{table}/valid-through")
def valid_through(orchestrator: Orchestrating, table: str) -> Json:
    """Up to which moment a table is complete."""
    return orchestrator.valid_through(table)


@router.put("/tables/{table}/valid-through")
def publish_valid_through(orchestrator: Orchestrating, table: str, body: ValidThroughBody) -> Json:
    """Say up to which moment a table is complete; the greatest that was ever said counts."""
    return orchestrator.publish_valid_through(table, body.valid_through)
