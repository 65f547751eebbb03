"""Whatever the description of the API allows, and what it forbids, gets an answer, never a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation

from calve.backfill.plan import Plan
from calve.backfill.store import add_backfill
from calve.engine.orchestrator import Orchestrator
from calve.server.app import PREFIX, create_app
from calve.server.examples import ANSWERS, REQUESTS
from calve.settings import ApiSettings, load_settings
from calve.steps.incremental.shared import close_ledgers
from calve.ui.site import add_pages
from support.engine_rows import NOW, add_step, set_run, start
from support.ledgers import append, make_ledger, make_table
from support.states import place_state

pytestmark = pytest.mark.slow

#: Of each operation; the seed is in the head of the report.
EXAMPLES = 4
#: A stream of events.
ENDLESS = f"{PREFIX}/events"
LOOP = """
Workflow:
  id: loop
  jobs:
    - foreach: {id: each, params: {n: [1, 2]}, jobs: [{job: {id: inner, type: NoOp}}]}
"""
#: What is there, so that not everything is about what is not.
KNOWN: dict[str, list[Any]] = {
    "workflow_id": ["orders", "hello", "loop"],
    "workflowId": ["orders", "hello", "loop"],
    "version": ["active", "latest", "1", "default"],
    "instance_id": [1, 2],
    "run_id": [1, "latest"],
    "run": [1, "latest"],
    "step_id": ["capture", "process", "each", "inner"],
    "stepId": ["capture", "process", "each"],
    "attempt": ["1", "latest"],
    "attempt_id": [1],
    "rank": ["1", "1-1"],
    "snapshot": ["latest", "1"],
    "name": ["orders.arrived", "orders", "db.orders"],
    "seq": ["1", "latest"],
    "table": ["db.orders", "lake.db.report"],
    "tag": ["sales"],
    "job_type": ["greet"],
    "backfill_id": [1],
    "action": ["stop", "kill", "pause", "resume", "restart", "skip", "run", "cancel", "discard", "publish"],
    "cursor": ["1", "1-1", "orders"],
    "first": [1, 5],
    "limit": [1, 5],
    "status": ["FAILED", "in_progress"],
    "search": ["orders", "%"],
    "owner": ["ana"],
}


@pytest.fixture
def app(home: Path) -> Iterator[FastAPI]:
    """The API and the pages over a state in which there is a little of everything."""
    place_state(home)
    # The host that Schemathesis asks for.
    found = load_settings(home).model_copy(update={"api": ApiSettings(host="testserver")})
    orchestrator = Orchestrator(found)
    made = add_pages(create_app(orchestrator))
    api = TestClient(made, base_url=f"http://testserver{PREFIX}")
    for text in (REQUESTS["POST /workflows/yaml"], LOOP):
        assert api.post("/workflows/yaml", content=text).status_code == 200
    for name in ("/workflows", "/signals", "/job-templates", "/tag-permits"):
        assert api.post(name, json=REQUESTS[f"POST {name}"]).status_code == 200
    database = orchestrator.database
    for workflow_id in ("orders", "orders", "hello", "loop"):
        run = start(database, workflow_id).run
        set_run(database, run, status="IN_PROGRESS", started_at=NOW)
    add_step(database, 1, "capture", "SUCCEEDED", started_at=NOW, ended_at=NOW + 1)
    add_step(database, 2, "capture", "FATALLY_FAILED", started_at=NOW, ended_at=NOW + 1)
    set_run(database, 2, status="FAILED", ended_at=NOW + 1)
    with make_ledger(home) as ledger:
        table = make_table(ledger, "db.orders")
        make_table(ledger, "db.report")
        append(table, 1)
        ledger.capture("db.orders", consumer="orders/capture").commit()
        append(table, 2)
    with database.write() as connection:
        plan = Plan.from_json(ANSWERS["POST /backfills"]["plan"])
        add_backfill(connection, plan, author="ana", reason=None, auto_publish=False, concurrency=1)
    yield made
    close_ledgers()
    database.close()


def known_values(data: st.DataObject, case: Case[Any]) -> None:
    """Put what is there into some of the places of a request."""
    for place in (case.path_parameters, case.query):
        for name in place or ():
            if name in KNOWN and data.draw(st.integers(0, 3)):
                place[name] = data.draw(st.sampled_from(KNOWN[name]))


def check(operation: APIOperation[Any, Any, Any, Any]) -> None:
    """Send requests of an operation, right ones and wrong ones; a crash is raised with the request."""

    @settings(
        max_examples=EXAMPLES,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(data=st.data())
    def requests(data: st.DataObject) -> None:
        mode = data.draw(st.sampled_from(list(GenerationMode)))
        case = data.draw(operation.as_strategy(generation_mode=mode))
        known_values(data, case)
        response = case.call()
        told = f"{case.as_curl_command()}\n{response.status_code} {response.text[:500]}"
        assert response.status_code < 500, told
        if response.status_code >= 400:
            assert {"status", "code", "message", "remedy"} <= set(json.loads(response.text)), told

    requests()


def test_no_request_crashes_the_api(app: FastAPI) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    checked = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        if operation.path != ENDLESS:
            check(operation)
            checked += 1
    assert checked > 70
