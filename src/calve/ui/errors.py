"""Errors as people see them: a page that says what was found, and what to do."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from calve.server.app import PREFIX
from calve.ui.rendering import render

Handler = Callable[[Request, Exception], Awaitable[Response]]


def show_errors(app: FastAPI) -> None:
    """Answer browsers with a page, wherever the API answers with JSON."""
    for kind, handler in list(app.exception_handlers.items()):
        app.exception_handlers[kind] = _page_of(handler)


def _page_of(handler: Any) -> Handler:
    async def show(request: Request, error: Exception) -> Response:
        answered: Response = await handler(request, error)
        if not wants_page(request):
            return answered
        document = json.loads(bytes(answered.body))
        return render(request, "error.html", {"error": document}, answered.status_code)

    return show


def wants_page(request: Request) -> bool:
    """True for a browser that asked for a page."""
    if request.url.path.startswith((PREFIX + "/", "/static/", "/openapi.json")):
        return False
    return "text/html" in request.headers.get("accept", "")
