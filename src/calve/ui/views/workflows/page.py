"""The page of a workflow."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from sqlalchemy import Connection

from calve.engine.orchestrator import Orchestrator
from calve.engine.views.definitions import unwrapped
from calve.engine.views.workflow_directory import owner_name
from calve.engine.views.workflows import workflow_overview, workflow_timeline, workflow_version
from calve.server.dependencies import LARGEST, Json, Orchestrating
from calve.state.clock import now_ms
from calve.ui.addresses import with_query, workflow_address
from calve.ui.commands import command
from calve.ui.formats import words
from calve.ui.pages import Pages
from calve.ui.views.workflows.graph import definition_graph
from calve.ui.views.workflows.grid import instance_grid
from calve.ui.views.workflows.head import head_of
from calve.ui.views.workflows.tables import lag_of, tables_of
from calve.ui.views.workflows.triggers import read_triggers

pages = Pages()

Tab = Literal["runs", "triggers", "tables", "history"]
_TIMELINE = 100


@pages.page("/workflows/{workflow_id}", "workflow.html")
def workflow(
    orchestrator: Orchestrating,
    workflow_id: str,
    tab: Tab = "runs",
    cursor: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
) -> Json:
    """A workflow: its graph and newest runs, or its triggers, its tables, its history."""
    with orchestrator.database.read() as connection:
        overview = workflow_overview(connection, workflow_id)
        version = workflow_version(connection, workflow_id, "default")
        shown = _tab(orchestrator, connection, version, tab, cursor)
    if tab == "tables":
        # Metadata of tables is read after the state is let go of.
        shown["lag"] = lag_of(orchestrator, shown["tables"]["captures"])
    return {"head": head_of(overview, version), "tab": tab, **shown, "command": _command(workflow_id, tab)}


def _tab(
    orchestrator: Orchestrator, connection: Connection, version: Json, tab: Tab, cursor: int | None
) -> Json:
    workflow_id = version["workflow"]["id"]
    match tab:
        case "runs":
            return _runs(connection, workflow_id, version, cursor)
        case "triggers":
            return read_triggers(connection, workflow_id)
        case "tables":
            return {"tables": tables_of(connection, orchestrator.settings, workflow_id)}
        case "history":
            events = workflow_timeline(connection, workflow_id)["timeline_events"][:_TIMELINE]
            return {"timeline": [_event(one) for one in events], "properties": _properties(version)}


def _runs(connection: Connection, workflow_id: str, version: Json, cursor: int | None) -> Json:
    steps = version["workflow"]["steps"]
    grid = instance_grid(connection, workflow_id, [step["id"] for step in unwrapped(steps)], cursor, now_ms())
    here = workflow_address(workflow_id)
    graph = definition_graph(steps)
    for row in grid["rows"]:
        newest = next((cell["href"] for cell in row["cells"] if cell), None)
        if newest and row["step_id"] in graph["facts"]:
            graph["facts"][row["step_id"]]["href"] = newest
    return {
        "graph": graph,
        "grid": grid,
        "newer": here if cursor is not None else None,
        "older": with_query(here, cursor=grid["older"]) if grid["older"] else None,
        **read_triggers(connection, workflow_id),
    }


def _properties(version: Json) -> Json:
    return {
        key: value
        for key, value in version["properties_snapshot"].items()
        if key not in ("workflow_id", "snapshot_id")
    }


def _event(one: Json) -> Json:
    """An event in words: what was done is said first."""
    rest = {key: value for key, value in one.items() if key not in ("author", "log", "timestamp", "action")}
    text = one["log"]
    if "action" in one and not any(isinstance(value, dict | list) for value in rest.values()):
        said = ", ".join(_say(words(key), value) for key, value in rest.items())
        text = f"{words(one['action'])} {said}".strip()
    return {"at": one["timestamp"], "author": owner_name(one["author"]) or "", "text": text}


def _say(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else f"not {name}"
    return f"{name} {value}"


def _command(workflow_id: str, tab: Tab) -> str:
    verbs = {"runs": "runs", "triggers": "triggers", "tables": "lineage", "history": "show"}
    return command(verbs[tab], workflow_id)
