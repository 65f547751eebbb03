"""What the description of the API shows is true: its requests are taken, its answers are those of the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.server.examples import ANSWERS, REQUESTS
from calve.steps.incremental.shared import close_ledgers
from support.engine_rows import NOW, add_step, set_run
from support.example_lake import make_example_lake

pytestmark = pytest.mark.slow

#: What stands in the paths of the story.
PLACES: dict[str, Any] = {
    "workflow_id": "orders",
    "version": "active",
    "instance_id": 1,
    "run_id": 1,
    "step_id": "process",
    "backfill_id": 1,
    "action": "concurrency",
    "table": "db.orders",
    "snapshot": "latest",
    "attempt": "latest",
    "name": "orders.arrived",
    "seq": "latest",
    "tag": "sales",
    "job_type": "greet",
}
QUERIES: dict[str, dict[str, Any]] = {
    "GET /workflows": {"search": "orders"},
    "GET /signals": {"name": "orders.arrived"},
    "GET /workflows/{workflow_id}/versions/pagination": {"first": 1},
    "GET /workflows/{workflow_id}/instances": {"first": 1},
    "GET /workflows/{workflow_id}/instances/{instance_id}/runs": {"first": 1},
    "GET /workflows/steps/breakpoints": {"workflowId": "orders"},
}
#: What these hold has a form of its own.
OWN = ("workflow", "params")
#: These need a run.
LATER = ("/breakpoints", "/backfills")
#: These need a loop, an attempt that is held, or a stream that ends; views have a test of their own.
NOT_TOLD = ("/views/", "/events", "/inline-path", "/paused-step-attempts")


def call(api: TestClient, name: str, **places: Any) -> Any:
    method, path = name.split(" ")
    body = REQUESTS.get(name)
    sent: dict[str, Any] = {"content": body} if isinstance(body, str) else {"json": body}
    if isinstance(body, str):
        sent["headers"] = {"content-type": "application/yaml"}
    response = api.request(
        method, path.format(**PLACES | places), params=QUERIES.get(name), **(sent if body is not None else {})
    )
    assert response.status_code == 200, f"{name}: {response.text}"
    return response.json()


def assert_form(example: Any, found: Any, where: str) -> None:
    """Every key that the example has is in the answer."""
    if isinstance(example, dict):
        assert isinstance(found, dict), where
        assert set(example) <= set(found), f"{where}: {set(example) - set(found)}"
        for key, value in example.items():
            if key not in OWN:
                assert_form(value, found[key], f"{where}.{key}")
    elif isinstance(example, list):
        assert isinstance(found, list), where
        if example and found:
            assert_form(example[0], found[0], f"{where}[0]")
    elif example is not None and found is not None:
        assert isinstance(found, type(example)) or isinstance(example, float), where


@pytest.fixture(autouse=True)
def _lake(orchestrator: Orchestrator) -> Iterator[None]:
    make_example_lake(orchestrator.settings.home)
    yield
    close_ledgers()


def set_running(orchestrator: Orchestrator) -> None:
    """The instance that was started has begun, and its first step is done."""
    params = ANSWERS["GET /workflows/{workflow_id}/instances/{instance_id}/runs/{run_id}"]["params"]
    set_run(orchestrator.database, 1, status="IN_PROGRESS", started_at=NOW, params=json.dumps(params))
    retries = json.dumps({"error": 0, "platform": 0, "timeout": 0})
    times = {"started_at": NOW, "ended_at": NOW + 1}
    add_step(orchestrator.database, 1, "capture", "SUCCEEDED", retries=retries, **times)


def test_the_examples_are_a_story_that_the_api_takes_and_answers(
    api: TestClient, orchestrator: Orchestrator
) -> None:
    left = dict.fromkeys(REQUESTS)

    def tell(name: str, **places: Any) -> None:
        left.pop(name, None)
        assert_form(ANSWERS[name], call(api, name, **places), name)

    for name in [name for name in REQUESTS if "{" not in name and not name.endswith(LATER)]:
        tell(name)
    tell("POST /workflows/{workflow_id}/properties", workflow_id="hello")
    tell("POST /workflows/{workflow_id}/properties/tag", workflow_id="hello")
    tell("POST /workflows/{workflow_id}/versions/{version}/actions/start")
    set_running(orchestrator)
    tell("POST /workflows/steps/breakpoints")
    tell("PUT /tables/{table}/valid-through")
    tell("POST /backfills")
    tell("POST /backfills/{backfill_id}/actions/{action}")
    for name in [name for name in ANSWERS if name.startswith("GET ") and name not in REQUESTS]:
        if not any(part in name for part in NOT_TOLD):
            table = "db.report" if "/lineage/" in name else "db.orders"
            tell(name, step_id="capture", table=table)
    set_run(orchestrator.database, 1, status="FAILED", ended_at=NOW)
    instance = "/workflows/{workflow_id}/instances/{instance_id}"
    tell(f"POST {instance}/actions/restart")
    tell(f"PUT {instance}/actions/{{action}}", action="stop")
    tell(f"POST {instance}/steps/{{step_id}}/actions/restart")
    assert left == {}
