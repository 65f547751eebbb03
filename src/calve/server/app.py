"""The app: routes, guards and errors put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from calve import __version__
from calve.server.errors import handle_errors
from calve.server.guards import BodyLimit, TokenCheck
from calve.server.hub import Hub
from calve.server.routes import (
    actions,
    backfills,
    breakpoints,
    events,
    instances,
    lineage,
    logs,
    permits,
    runs,
    signals,
    steps,
    tables,
    templates,
    workflows,
)

if TYPE_CHECKING:
    from calve.engine.orchestrator import Orchestrator

PREFIX = "/api/v3"
_DESCRIPTION = """\
Workflows, their instances, runs, steps and signals, on Maestro's paths.

Who calls is in the header `user`. Every error is `{"status", "code", "message", "remedy"}`; codes are stable.
"""
#: Paths that name a kind of thing come before those where a workflow id stands in its place.
_ROUTERS = (
    breakpoints,
    actions,
    steps,
    instances,
    logs,
    runs,
    workflows,
    signals,
    templates,
    permits,
    tables,
    lineage,
    backfills,
    events,
)


def create_app(orchestrator: Orchestrator) -> FastAPI:
    """The app over an orchestrator. It keeps nothing: any number of them may serve one state."""
    app = FastAPI(title="Calve", version=__version__, description=_DESCRIPTION)
    app.state.orchestrator = orchestrator
    app.state.hub = Hub(orchestrator.database)
    for module in _ROUTERS:
        app.include_router(module.router, prefix=PREFIX)
    handle_errors(app)
    app.add_middleware(BodyLimit)
    token = orchestrator.settings.api.secret()
    if token:
        app.add_middleware(TokenCheck, token=token)
    return app
