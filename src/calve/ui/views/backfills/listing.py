"""Backfills: the newest ones, and a form that plans one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from calve.backfill.acting import make_plan, read_body
from calve.backfill.service import Backfills
from calve.engine.views.pages import PageRequest
from calve.errors import CalveError
from calve.server.dependencies import LARGEST, Json, Orchestrating
from calve.server.errors import status_of
from calve.ui.addresses import backfill_address
from calve.ui.forms import Fields, Person
from calve.ui.pages import Pages
from calve.ui.rendering import render
from calve.ui.views.backfills.finding import backfills_page
from calve.ui.views.backfills.form import DEFAULTS, form_model, read_form

pages = Pages()
_SIZE = 50
_NEW = "backfill_new.html"
Cursor = Annotated[int | None, Query(ge=0, le=LARGEST)]


@pages.page("/backfills", "backfills.html")
def list_page(orchestrator: Orchestrating, older: Cursor = None, newer: Cursor = None) -> Json:
    """The newest backfills; those `older` or `newer` than a number."""
    asked = PageRequest(first=_SIZE, cursor=older) if newer is None else PageRequest(last=_SIZE, cursor=newer)
    with orchestrator.database.read() as connection:
        return {**backfills_page(connection, asked), "command": "calve backfill list"}


@pages.page("/backfills/new", _NEW)
def new_page(orchestrator: Orchestrating, workflow: str = "") -> Json:
    """A form for a plan."""
    with orchestrator.database.read() as connection:
        return form_model(connection, {**DEFAULTS, "workflow_id": workflow})


@pages.html.post("/backfills")
def plan(request: Request, orchestrator: Orchestrating, person: Person, fields: Fields) -> Response:
    """Plan what the form says, and show the plan; or the form again, as typed, with what is wrong."""
    try:
        made = make_plan(Backfills(orchestrator), read_body(read_form(fields)), person)
    except CalveError as error:
        with orchestrator.database.read() as connection:
            model = form_model(connection, {**DEFAULTS, **fields}, error)
        return render(request, _NEW, model, status_of(error))
    return RedirectResponse(backfill_address(made["backfill_id"]), status_code=303)
