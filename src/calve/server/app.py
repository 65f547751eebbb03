"""The app: routes, guards and errors put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calve import __version__
from calve.server.describing import PREFIX, DescribedApp
from calve.server.errors import handle_errors
from calve.server.etags import ETags
from calve.server.guards import BodyLimit, SameOrigin, TokenCheck
from calve.server.hosts import OwnHost
from calve.server.hub import Hub
from calve.server.json_bodies import JsonBodies
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
    from fastapi import FastAPI

    from calve.engine.orchestrator import Orchestrator

__all__ = ["PREFIX", "create_app"]

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
    # Its own pages for /docs load scripts from elsewhere.
    app = DescribedApp(
        title="Calve", version=__version__, description=_DESCRIPTION, docs_url=None, redoc_url=None
    )
    app.state.orchestrator = orchestrator
    app.state.hub = Hub(orchestrator.database)
    for module in _ROUTERS:
        app.include_router(module.router, prefix=PREFIX)
    handle_errors(app)
    app.add_middleware(ETags)
    app.add_middleware(JsonBodies)
    app.add_middleware(BodyLimit)
    app.add_middleware(SameOrigin)
    api = orchestrator.settings.api
    token = api.secret()
    if token:
        app.add_middleware(TokenCheck, token=token)
    else:
        app.add_middleware(OwnHost, host=api.host)
    return app
