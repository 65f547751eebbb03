"""What pages of workflows, signals and settings cost does not grow with what is finished."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection

from calve.engine.orchestrator import Orchestrator
from calve.engine.views.workflow_list import STATES, WorkflowFilter, find_workflows
from calve.server.app import create_app
from calve.settings import load_settings
from calve.state.database import Database
from calve.ui.site import add_pages
from calve.ui.views.settings.engines import engines, permit_use, queues
from calve.ui.views.signals.finding import sent_signals, subscribers, waiting_steps
from calve.ui.views.workflows.grid import instance_grid
from calve.ui.views.workflows.recent import blocked_workflows, recent_runs
from support.engine_rows import NOW, add_step, push_jobs, start
from support.query_plans import plan_lines

#: Scans of these are scans of what is unfinished, or end where the page does.
BOUNDED = ("ix_runs_live", "ix_runs_queued", "ix_runs_owned")
GROWING = ("runs", "steps", "events", "signals", "workflow_versions")

VIEWS: dict[str, Callable[[Connection], Any]] = {
    **{f"list: {state}": partial(find_workflows, wanted=WorkflowFilter(state=state)) for state in STATES},
    "list by words": lambda found: find_workflows(found, WorkflowFilter("w", owner="alice", tag="x")),
    "sparklines": lambda found: recent_runs(found, ["wf", "other"], NOW),
    "blocked": lambda found: blocked_workflows(found, ["wf", "other"]),
    "grid": lambda found: instance_grid(found, "wf", ["a"], None, NOW),
    "older part of the grid": lambda found: instance_grid(found, "wf", ["a"], 5, NOW),
    "signals of a name": lambda found: sent_signals(found, "x", 5),
    "subscribers": lambda found: subscribers(found, "x"),
    "waiting steps": lambda found: waiting_steps(found, ""),
    "engines": lambda found: engines(found, 1, NOW),
    "queues": queues,
    "permits": permit_use,
}


@pytest.fixture
def filled(database: Database) -> Database:
    push_jobs(database, "wf", "a")
    add_step(database, start(database, "wf").run, "a", "SUCCEEDED")
    return database


@pytest.mark.parametrize("name", VIEWS)
def test_rows_are_found_by_an_index(filled: Database, name: str) -> None:
    with filled.read() as connection:
        for line in plan_lines(connection, VIEWS[name]):
            scanned = line.removeprefix("SCAN ").split(" ")[0] if line.startswith("SCAN ") else ""
            assert scanned not in GROWING or line.endswith(BOUNDED), line


@pytest.mark.slow
def test_pages_are_the_same_over_postgres(home: Path, postgres_url: str) -> None:
    orchestrator = Orchestrator(load_settings(home).model_copy(update={"state_url": postgres_url}))
    push_jobs(orchestrator.database, "wf", "a")
    add_step(orchestrator.database, start(orchestrator.database, "wf").run, "a", "RUNNING")
    orchestrator.send_signal("x", {"day": 1}, {}, None)
    site = add_pages(create_app(orchestrator))
    client = TestClient(site, base_url="http://localhost", headers={"accept": "text/html"})
    pages = ["/workflows", "/workflows?search=wf&owner=alice", "/workflows/wf", "/workflows/wf/start"]
    pages += [f"/workflows?state={state}" for state in STATES]
    pages += [f"/workflows/wf?tab={tab}" for tab in ("triggers", "tables", "history")]
    pages += ["/workflows/wf/definition?against=1", "/signals", "/signals?name=x&cursor=9", "/settings"]
    try:
        assert {page: client.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)
    finally:
        orchestrator.database.close()
