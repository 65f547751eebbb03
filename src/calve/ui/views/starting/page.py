"""Starting a run by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from uuid import uuid4

from fastapi import Query, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from calve.engine.core.lease import any_engine_alive
from calve.engine.model.requests import StartOutcome, StartRequest
from calve.engine.views.workflows import workflow_version
from calve.errors import NotFoundError, UsageError
from calve.server.dependencies import Json, Orchestrating
from calve.ui.addresses import run_address
from calve.ui.commands import command
from calve.ui.forms import Fields, Person, go_to
from calve.ui.pages import Pages
from calve.ui.rendering import render
from calve.ui.views.starting.fields import fields_of, read_fields
from calve.ui.views.workflows.head import read_head

pages = Pages()
_TEMPLATE = "start.html"
_REQUEST, _VERSION = "request_id", "version"
_TOLD = {
    StartOutcome.CREATED: "Started.",
    StartOutcome.DUPLICATED: "It was started before.",
    StartOutcome.STOPPED: "Its run strategy did not let it run.",
}


@pages.page("/workflows/{workflow_id}/start", _TEMPLATE)
def start_form(
    orchestrator: Orchestrating,
    workflow_id: str,
    version: Annotated[
        str, Query(max_length=32, description="active, latest, default or a number.")
    ] = "default",
) -> Json:
    """The params of a workflow, to be given to a new run."""
    with orchestrator.database.read() as connection:
        return _form(connection, workflow_id, version)


@pages.html.post("/workflows/{workflow_id}/start")
def start(
    request: Request, orchestrator: Orchestrating, person: Person, workflow_id: str, fields: Fields
) -> Response:
    """Start a run, or show the form again with what is wrong beside each field."""
    version = fields.get(_VERSION, "default")
    with orchestrator.database.read() as connection:
        form = _form(connection, workflow_id, version, fields)
    params, errors = read_fields(form["declared"], fields)
    problem: UsageError | None = None
    if not errors:
        asked = StartRequest(
            workflow_id=workflow_id,
            version=version,
            params=params,
            request_id=fields.get(_REQUEST) or None,
            author=person,
        )
        try:
            started = orchestrator.start(asked)
        except NotFoundError:
            raise
        except UsageError as error:
            problem = error
        else:
            return go_to(run_address(workflow_id, started.instance_id), _TOLD[started.status])
    shown = {
        **form,
        "fields": fields_of(form["declared"], fields, errors),
        "problem": None if problem is None else problem.to_json(),
    }
    return render(request, _TEMPLATE, shown, 400)


def _form(
    connection: Connection, workflow_id: str, version: str, typed: Mapping[str, str] | None = None
) -> Json:
    declared: dict[str, Json] = workflow_version(connection, workflow_id, version)["workflow"].get(
        "params", {}
    )
    return {
        "head": read_head(connection, workflow_id),
        "chosen": version,
        "declared": declared,
        "fields": fields_of(declared),
        "problem": None,
        "engine_alive": any_engine_alive(connection),
        # Sent twice, by a second click, it starts once.
        "request_id": (typed or {}).get(_REQUEST) or str(uuid4()),
        "command": _command(workflow_id, version, declared),
    }


def _command(workflow_id: str, version: str, declared: Mapping[str, Json]) -> str:
    """The command that starts it, with a place for each param that has no default."""
    chosen = () if version == "default" else ("--version", version)
    needed = [f"{name}=VALUE" for name, one in declared.items() if not {"value", "expression"} & set(one)]
    return command("run", workflow_id, *needed, *chosen)
