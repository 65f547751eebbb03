"""No view reads a whole table: what it costs does not grow with what is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from calve.engine.views import (
    feed,
    flatten,
    refusals,
    run_documents,
    run_list,
    runs,
    steps,
    workflow_list,
    workflows,
)
from calve.engine.views.pages import PageRequest
from calve.state.database import Database
from support.engine_rows import add_run, add_step, push_yaml, start
from support.query_plans import recorded

YAML = """
Workflow:
  id: wf
  jobs:
    - job: {id: a, type: NoOp}
    - foreach:
        id: each
        params: {x: [1]}
        jobs:
          - job: {id: inner, type: NoOp}
"""
#: Views that must look at nothing but what these indexes hold.
INDEXES = {
    "failed runs": "ix_runs_newest_failed",
    "stopped runs": "ix_runs_newest_stopped",
    "runs that go on": "ix_runs_live",
    "queued runs": "ix_runs_queued",
    "overview": "ix_runs_",
    "timeline": "ix_events_outside_runs",
    "paused attempts": "ix_runs_live",
    "failed starts": "ix_events_trigger",
}
GROWING = ("runs", "steps", "events")
PAGE = PageRequest(first=10, cursor=5)


def listed(
    connection: Connection, workflow_id: str = "", *, status: str = "", cursor: str = ""
) -> dict[str, Any]:
    return run_list.list_runs(connection, run_list.Wanted.parse(workflow_id, status, cursor))


VIEWS: dict[str, Callable[[Connection], Any]] = {
    "list": workflow_list.list_workflows,
    "search": lambda found: workflow_list.list_workflows(found, "wf"),
    "overview": lambda found: workflows.workflow_overview(found, "wf"),
    "timeline": lambda found: workflows.workflow_timeline(found, "wf"),
    "versions": lambda found: workflows.workflow_versions_page(found, "wf", PAGE),
    "instances": lambda found: run_documents.instances_page(found, "wf", PAGE),
    "instance": lambda found: run_documents.instance_document(found, "wf", 1),
    "runs of an instance": lambda found: run_documents.runs_page(found, "wf", 1, PAGE),
    "summary": lambda found: runs.run_summary(found, "wf", 1),
    "newest runs of a workflow": lambda found: listed(found, "wf"),
    "next runs of a workflow": lambda found: listed(found, "wf", cursor="5-1"),
    "failed runs": lambda found: listed(found, status="failed"),
    "failed runs of a workflow": lambda found: listed(found, "wf", status="failed"),
    "runs that go on": lambda found: listed(found, status="in_progress", cursor="5"),
    "queued runs": lambda found: listed(found, status="created"),
    "stopped runs": lambda found: listed(found, status="stopped"),
    "steps of an instance": lambda found: steps.instance_steps(found, "wf", 1),
    "step of an instance": lambda found: steps.instance_step(found, "wf", 1, "a"),
    "steps of a run": lambda found: steps.run_steps(found, "wf", 1, 1),
    "attempt": lambda found: steps.step_attempt(found, "wf", 1, 1, "a"),
    "paused attempts": lambda found: steps.paused_attempts(found, "wf", "a"),
    "iterations": lambda found: flatten.iterations_page(found, ("wf", 1, 1), "each"),
    "steps inside a loop": lambda found: flatten.iterations_summary(found, ("wf", 1, 1), "inner"),
    "failed starts": lambda found: refusals.failed_starts(found, 0),
    "events": lambda found: feed.read_events(found, 5, feed.EventFilter("wf")),
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder: Path = tmp_path_factory.mktemp("state")
    made = Database(f"sqlite:///{folder}/state.db")
    push_yaml(made, YAML)
    run = start(made, "wf").run
    add_step(made, run, "a", "SUCCEEDED")
    loop = '{"loop": {"workflow_id": "wf", "step_id": "each"}}'
    add_run(
        made,
        run,
        workflow_id="inline",
        uuid="i",
        inline=True,
        parent_run=run,
        parent_step="each",
        request=loop,
    )
    yield made
    made.close()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_finds_its_rows_by_an_index(database: Database, name: str) -> None:
    with database.read() as connection:
        with recorded() as statements:
            VIEWS[name](connection)
        assert statements
        for statement, parameters in statements:
            if not statement.startswith("SELECT"):
                continue
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            for line in (str(row[3]) for row in plan):
                wanted = INDEXES.get(name)
                scanned = line.removeprefix("SCAN ").split(" ")[0] if line.startswith("SCAN ") else ""
                # A scan of an index that holds only what is wanted ends where the page does.
                if not (wanted and line.endswith(wanted)):
                    assert scanned not in GROWING, f"{line}\n{statement}"
                if wanted:
                    is_found = wanted in line or line.endswith("(rowid=?)")
                    assert "runs" not in line or is_found, f"{line}\n{statement}"
