"""Pages: a view that gives data, a template that shows it, and the same data as JSON under the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from calve.server.dependencies import Json
from calve.ui.rendering import render

TWINS = "/views"
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
            self.twins.add_api_route(path if path != "/" else "/home", view, methods=["GET"])

            given: Any = Depends(view)

            def show(request: Request, model: Json = given) -> HTMLResponse:
                return render(request, template, model)

            self.html.add_api_route(path, show, methods=["GET", "HEAD"], response_class=HTMLResponse)
            return view

        return register
