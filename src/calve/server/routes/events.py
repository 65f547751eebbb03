"""Events as they happen, and whether the server is well."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from calve import __version__
from calve.engine.core.liveness import any_engine_alive
from calve.engine.orchestrator import Orchestrator
from calve.engine.views.feed import Batch, EventFilter, newest_event, read_events
from calve.engine.views.numbers import is_number
from calve.errors import UsageError
from calve.server.dependencies import LARGEST, Json, Orchestrating
from calve.server.hub import Hub

router = APIRouter(tags=["events"])

#: A change that nobody announced is seen after so long.
_LOOK_S = 5.0
_PING_S = 15
_STREAM = "text/event-stream"


@router.get("/health")
def health(orchestrator: Orchestrating) -> Json:
    """Whether the server and its state answer, and whether an engine is there to run what is queued."""
    return {"status": "ok", "version": __version__, "engine_alive": any_engine_alive(orchestrator.database)}


@router.get("/events", response_class=EventSourceResponse, responses={200: {"content": {_STREAM: {}}}})
async def events(
    request: Request,
    workflow_id: Annotated[str | None, Query(description="Only of this workflow.")] = None,
    instance_id: Annotated[int | None, Query(description="Only of this instance.", ge=0, le=LARGEST)] = None,
    after: Annotated[
        int | None, Query(description="From this event on; otherwise from now on.", ge=0, le=LARGEST)
    ] = None,
    last_event_id: Annotated[str | None, Header(description="Where a stream that broke goes on.")] = None,
) -> EventSourceResponse:
    """Server-sent events: every change of a run, a step or a workflow, in order, with its number as id."""
    orchestrator: Orchestrator = request.app.state.orchestrator
    hub: Hub = request.app.state.hub
    start = after if last_event_id is None else _event_number(last_event_id)
    if start is None:
        start = await run_in_threadpool(newest, orchestrator)
    wanted = EventFilter(workflow_id, instance_id)
    return EventSourceResponse(_stream(orchestrator, hub, start, wanted), ping=_PING_S)


async def _stream(
    orchestrator: Orchestrator, hub: Hub, start: int, wanted: EventFilter
) -> AsyncIterator[dict[str, Any]]:
    last = start
    with hub.listen() as changed:
        while not hub.closed:
            changed.clear()
            batch = await run_in_threadpool(_read, orchestrator, last, wanted)
            last = batch.last_id
            for event in batch.events:
                yield {"id": str(event["id"]), "event": event["kind"], "data": json.dumps(event)}
            if not batch.is_full:
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), _LOOK_S)


def _read(orchestrator: Orchestrator, after: int, wanted: EventFilter) -> Batch:
    with orchestrator.database.read() as connection:
        return read_events(connection, after, wanted)


def newest(orchestrator: Orchestrating) -> int:
    """The number of the newest event: a stream after it tells all that comes from now on."""
    with orchestrator.database.read() as connection:
        return newest_event(connection)


def _event_number(text: str) -> int:
    if is_number(text):
        return int(text)
    raise UsageError("EVENT_ID_INVALID", f"found Last-Event-ID '{text[:40]}'", "send the id of an event")
