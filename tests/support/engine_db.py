"""The state of the orchestrator on each kind of database, and short ways to put things into it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Table, insert, select

from calve.engine.catalog.push import Pushed, push
from calve.engine.model.requests import Started, StartOutcome, StartRequest
from calve.engine.model.statuses import RunStatus
from calve.errors import CalveError
from calve.state.database import Database
from calve.state.orchestration import events, runs
from calve.workflow.definition import WorkflowDefinition, load_yaml
from support.states import place_postgres_state, place_state

NOW = 1_700_000_000_000
AUTHOR = "ada"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def engine_db(request: pytest.FixtureRequest, home: Path) -> Iterator[Database]:
    """An empty state: every test that asks for it runs on both kinds of database."""
    if request.param == "sqlite":
        url = place_state(home)
    else:
        url = place_postgres_state(request.getfixturevalue("postgres_server_url"))
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def connection(engine_db: Database) -> Iterator[Connection]:
    """One open write transaction on an empty state."""
    with engine_db.write() as opened:
        yield opened


def definition(workflow_id: str = "w", top: str = "", inside: str = "") -> WorkflowDefinition:
    """A workflow of one step; `top` and `inside` are YAML for the document and for the workflow."""
    lines = [top, "Workflow:", f"  id: {workflow_id}", *(f"  {line}" for line in inside.splitlines())]
    lines += ["  jobs:", "    - job: {id: only, type: NoOp}"]
    return load_yaml("\n".join(lines)).definition


def push_workflow(
    connection: Connection, workflow_id: str = "w", top: str = "", inside: str = "", now_ms: int = NOW
) -> Pushed:
    """Push a workflow of one step."""
    return push(connection, definition(workflow_id, top, inside), AUTHOR, now_ms)


def add_run(connection: Connection, workflow_id: str, instance_id: int, **columns: Any) -> int:
    """A run, as an engine would have left it; gives its key."""
    row = {
        "workflow_id": workflow_id,
        "instance_id": instance_id,
        "run_id": 1,
        "version": 1,
        "uuid": f"{workflow_id}-{instance_id}",
        "status": RunStatus.SUCCEEDED.value,
        **dict.fromkeys(("inline", "ready", "blocking", "paused"), False),
        "latest": True,
        "depth": 0,
        **dict.fromkeys(("initiator", "request", "params"), "{}"),
        "created_at": NOW,
        **columns,
    }
    key: int = connection.execute(insert(runs).values(row).returning(runs.c.id)).scalar_one()
    return key


def event_data(connection: Connection, kind: str, workflow_id: str = "w") -> list[dict[str, Any]]:
    """What the events of a kind say, the oldest first."""
    query = select(events.c.data).where(events.c.kind == kind, events.c.workflow_id == workflow_id)
    return [json.loads(text) for text in connection.execute(query.order_by(events.c.id)).scalars()]


def rows(connection: Connection, table: Table) -> list[dict[str, Any]]:
    """All rows of a table, by its key."""
    query = select(table).order_by(*table.primary_key.columns)
    return [dict(row) for row in connection.execute(query).mappings()]


@dataclass
class Starter:
    """Starts instances as far as triggers can tell: keeps the requests; the same id is one instance."""

    requests: list[StartRequest] = field(default_factory=list)
    #: Workflows that cannot be started, and why.
    refused: dict[str, CalveError] = field(default_factory=dict)
    _ids: dict[tuple[str, str | None], int] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __call__(self, request: StartRequest) -> Started:
        if request.workflow_id in self.refused:
            raise self.refused[request.workflow_id]
        key = (request.workflow_id, request.request_id)
        outcome = StartOutcome.DUPLICATED if key in self._ids else StartOutcome.CREATED
        number = self._ids.setdefault(key, next(self._numbers))
        if outcome is StartOutcome.CREATED:
            self.requests.append(request)
        return Started(request.workflow_id, number, 1, request.request_id or "", outcome, number)

    @property
    def times(self) -> list[int]:
        """The times that time triggers fired for."""
        return [request.initiator["trigger_time"] for request in self.requests]

    @property
    def signals(self) -> list[dict[str, int]]:
        """The signals that signal triggers fired for."""
        return [request.initiator["signal_id_map"] for request in self.requests]
