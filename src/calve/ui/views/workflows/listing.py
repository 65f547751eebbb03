"""The list of workflows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Query

from calve.backfill.lineage.loading import BACKFILL_PREFIX
from calve.engine.views.workflow_directory import owner_name
from calve.engine.views.workflow_list import STATES, WorkflowFilter, find_workflows
from calve.server.dependencies import Json, Orchestrating
from calve.state.clock import now_ms
from calve.ui.addresses import run_address, with_query, workflow_address
from calve.ui.commands import command
from calve.ui.pages import Pages
from calve.ui.views.workflows.recent import blocked_workflows, recent_runs
from calve.ui.views.workflows.starts import starts_in_short

pages = Pages()
PAGE_SIZE = 50

_Word = Annotated[str, Query(max_length=256)]


@pages.page("/workflows", "workflows.html")
def workflows(
    orchestrator: Orchestrating,
    search: _Word = "",
    state: _Word = "",
    owner: _Word = "",
    tag: _Word = "",
    backfills: bool = False,
    cursor: Annotated[str, Query(max_length=512)] = "",
) -> Json:
    """Workflows by id with their newest runs, next starts and what waits for them."""
    wanted = WorkflowFilter(
        search.strip(),
        state or None,
        owner.strip() or None,
        tag.strip() or None,
        None if backfills else BACKFILL_PREFIX,
    )
    with orchestrator.database.read() as connection:
        found = find_workflows(connection, wanted, cursor, PAGE_SIZE)
        ids = [one["workflow_id"] for one in found["workflows"]]
        recent = recent_runs(connection, ids, now_ms())
        starts = starts_in_short(connection, ids)
        blocked = blocked_workflows(connection, ids)
    asked = {
        "search": search.strip(),
        "state": state,
        "owner": owner.strip(),
        "tag": tag.strip(),
        "backfills": "true" if backfills else "",
    }
    rows = [_row(one, recent, starts.get(one["workflow_id"], []), blocked) for one in found["workflows"]]
    return {
        "asked": asked,
        "is_filtered": any(value for name, value in asked.items() if name != "backfills"),
        "states": list(STATES),
        "workflows": rows,
        "first": with_query("/workflows", **asked) if cursor else None,
        "next": with_query("/workflows", **asked, cursor=found["next_cursor"])
        if found["next_cursor"]
        else None,
        "command": command("list", search.strip()),
    }


def _row(one: Json, recent: Mapping[str, Json], starts: list[Json], blocked: set[str]) -> Json:
    workflow_id = one["workflow_id"]
    latest = one.get("latest_run")
    if latest is not None:
        latest = {**latest, "href": run_address(workflow_id, latest["workflow_instance_id"])}
    times = [start["at"] for start in starts if start["at"] is not None]
    return {
        "workflow_id": workflow_id,
        "href": workflow_address(workflow_id),
        "name": one.get("name"),
        "description": one.get("description"),
        "owner": owner_name(one.get("owner")),
        "tags": list(dict.fromkeys(one["tags"])),
        "paused": one["paused"],
        "blocked": workflow_id in blocked,
        "is_active": "active_version_id" in one,
        "latest_run": latest,
        "recent": recent.get(workflow_id),
        "starts": starts,
        "next_time": min(times) if times else None,
        "lag": next((start["lag"] for start in starts if start.get("lag")), None),
    }
