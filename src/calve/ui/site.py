"""The pages put onto the app that serves the API."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from calve.server.app import PREFIX
from calve.ui import login, preferences
from calve.ui.errors import show_errors
from calve.ui.headers import SafeHeaders
from calve.ui.pages import Pages
from calve.ui.registry import PAGES
from calve.ui.rendering import STATIC


def add_pages(app: FastAPI) -> FastAPI:
    """Serve the pages beside the API, in the same app."""
    for pages in PAGES:
        _include(app, pages)
    app.include_router(preferences.router)
    app.include_router(login.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    show_errors(app)
    app.add_middleware(SafeHeaders)
    return app


def _include(app: FastAPI, pages: Pages) -> None:
    app.include_router(pages.html)
    app.include_router(pages.twins, prefix=PREFIX)
