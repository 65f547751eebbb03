"""The newest runs of all workflows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from calve.engine.model.statuses import RunStatus
from calve.engine.orchestrator import Orchestrator
from calve.engine.views.documents import Json
from calve.engine.views.run_list import Found, Wanted, find_runs
from calve.errors import NotFoundError
from calve.server.dependencies import Orchestrating
from calve.state.clock import now_ms
from calve.ui.addresses import run_address, with_query, workflow_address
from calve.ui.commands import command
from calve.ui.formats import elapsed
from calve.ui.pages import Pages
from calve.ui.views.runs.initiator import describe_start, read_parents
from calve.ui.views.runs.steps import shorten_error

pages = Pages()
_PATH = "/runs"
SIZE = 50


@pages.page(_PATH, "runs.html")
def runs(orchestrator: Orchestrating, workflow: str = "", status: str = "", cursor: str = "") -> Json:
    """The newest runs, of one workflow or of all, in one status or in any."""
    wanted = Wanted.parse(workflow, status, cursor, SIZE)
    shown, older, problem = _read(orchestrator, wanted)
    return {
        "runs": shown,
        "problem": problem,
        "workflow": workflow,
        "status": wanted.status.value if wanted.status else "",
        "statuses": [one.value for one in RunStatus],
        "older": None if older is None else _link(wanted, older),
        "newer": _link(wanted, None) if cursor else None,
        "is_first": not cursor,
        "command": command("runs", workflow, "--status" if status else None, status),
    }


def _read(orchestrator: Orchestrator, wanted: Wanted) -> tuple[list[Json], str | None, Json | None]:
    with orchestrator.database.read() as connection:
        try:
            found = find_runs(connection, wanted)
        except NotFoundError as error:
            # Somebody is looking for a name: that it is not there is an answer.
            return [], None, error.to_json()
        parents = read_parents(connection, found.rows)
    return _describe_all(found, parents), found.older, None


def _describe_all(found: Found, parents: dict[int, Row[Any]]) -> list[Json]:
    now = now_ms()
    return [
        {
            "workflow_id": row.workflow_id,
            "instance_id": row.instance_id,
            "run_id": row.run_id,
            "status": row.status,
            "paused": row.paused,
            "href": run_address(row.workflow_id, row.instance_id, row.run_id),
            "workflow_href": workflow_address(row.workflow_id),
            "start": describe_start(row, parents),
            "created_at": row.created_at,
            "started_at": row.started_at,
            "ended_at": row.ended_at,
            "took": elapsed(row.started_at, row.ended_at, now),
            "error": shorten_error(row.error),
        }
        for row in found.rows
    ]


def _link(wanted: Wanted, cursor: str | None) -> str:
    status = None if wanted.status is None else wanted.status.value
    return with_query(_PATH, workflow=wanted.workflow_id, status=status, cursor=cursor)
