"""Pages: a view that gives data, a template that shows it, and the same data as JSON under the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from calve.server.app import PREFIX
from calve.server.dependencies import Json
from calve.server.routes.events import newest
from calve.ui.rendering import query_of, render

TWINS = "/views"
_HOME = "/home"
View = TypeVar("View", bound=Callable[..., Json])


class Pages:
    """Two routers that grow together: pages for people, and their twins for programs."""

    def __init__(self) -> None:
        self.html = APIRouter(include_in_schema=False)
        self.twins = APIRouter(prefix=TWINS, tags=["views"])

    def page(self, path: str, template: str) -> Callable[[View], View]:
        """Show what a view gives at `path`; its parameters are those of the path and of the query."""

        def register(view: View) -> View:
            # A path of its own even for the home page, whose path is empty.
            self.twins.add_api_route(path if path != "/" else _HOME, view, methods=["GET"])

            # In this order: what happens while the view reads comes after what was seen.
            seen_first: Any = Depends(newest)
            given: Any = Depends(view)

            def show(request: Request, seen: int = seen_first, model: Json = given) -> HTMLResponse:
                return render(request, template, model, twin=_twin(request), seen=seen)

            self.html.add_api_route(path, show, methods=["GET", "HEAD"], response_class=HTMLResponse)
            return view

        return register


def _twin(request: Request) -> str:
    path = _HOME if request.url.path == "/" else request.url.path
    return f"{PREFIX}{TWINS}{path}{query_of(request)}"
