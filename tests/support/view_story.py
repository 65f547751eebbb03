"""The story of the API's examples as pages tell it: each view once, and its answer made short."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.server.app import PREFIX
from calve.server.examples import REQUESTS
from calve.server.examples.moments import STARTED
from support.engine_rows import NOW, add_step, set_run
from support.example_lake import make_example_lake

_RUN = "/workflows/{workflow_id}/instances/{instance_id}"
#: Where each view of the story is.
VIEWS: Mapping[str, str] = {
    "/home": "/home",
    "/workflows": "/workflows",
    "/workflows/{workflow_id}": "/workflows/orders",
    "/workflows/{workflow_id}/definition": "/workflows/orders/definition",
    "/workflows/{workflow_id}/start": "/workflows/orders/start",
    "/signals": "/signals",
    "/settings": "/settings",
    "/docs": "/docs",
    "/backfills": "/backfills",
    "/backfills/new": "/backfills/new",
    "/backfills/{backfill_id}": "/backfills/1",
    "/runs": "/runs",
    _RUN: "/workflows/orders/instances/1",
    _RUN + "/runs/{run_id}": "/workflows/orders/instances/1/runs/1",
    _RUN + "/steps/{step_id}": "/workflows/orders/instances/1/steps/capture",
    "/tables": "/tables",
    "/tables/{name}": "/tables/db.orders",
    "/captures/{capture_id}": "/captures/{capture}",
    "/lineage": "/lineage",
}
_LONGEST = 100
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_MOMENT = range(1_500_000_000_000, 2_500_000_000_000)


def tell(orchestrator: Orchestrator, twins: TestClient) -> dict[str, Any]:
    """The answers of all views, by operation."""
    home = orchestrator.settings.home
    capture = make_example_lake(home)
    for path in ("/workflows/yaml", "/signals", "/tag-permits"):
        _post(twins, path, REQUESTS[f"POST {path}"])
    start = "POST /workflows/{workflow_id}/versions/{version}/actions/start"
    _post(twins, "/workflows/orders/versions/active/actions/start", REQUESTS[start])
    params = json.dumps({"minimum": {"value": 5, "type": "LONG", "evaluated_result": 5}})
    set_run(orchestrator.database, 1, status="IN_PROGRESS", started_at=NOW, params=params)
    add_step(orchestrator.database, 1, "capture", "SUCCEEDED", started_at=NOW, ended_at=NOW + 1)
    _post(twins, "/backfills", REQUESTS["POST /backfills"])
    answers: dict[str, Any] = {}
    for view, path in VIEWS.items():
        response = twins.get(path.format(capture=capture))
        assert response.status_code == 200, f"{path}: {response.text}"
        answers[f"GET /views{view}"] = _short(response.json(), str(home))
    return answers


def form(value: Any) -> Any:
    """Which keys and kinds of values an answer has."""
    if isinstance(value, dict):
        return {key: form(part) for key, part in value.items()}
    if isinstance(value, list):
        return [form(part) for part in value]
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def _short(value: Any, home: str) -> Any:
    """The first entry of each list, the beginning of long texts, and nothing of the machine or the hour."""
    if isinstance(value, dict):
        return {key: _short(part, home) for key, part in value.items()}
    if isinstance(value, list):
        return [_short(part, home) for part in value[:1]]
    if isinstance(value, int) and value in _MOMENT:
        return STARTED
    if not isinstance(value, str):
        return value
    plain = _UUID.sub("12eefd0a-7cb0-412d-9442-6021632ff8ef", value.replace(home, "/srv/calve"))
    plain = re.sub(r"http://(testserver|localhost)", "http://127.0.0.1:8080", plain)
    plain = re.sub(r"\S+@\S+:\d+", "ana@engine-1:4711", plain)
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


def _post(twins: TestClient, path: str, body: Any) -> None:
    kind = "application/yaml" if isinstance(body, str) else "application/json"
    content = body if isinstance(body, str) else json.dumps(body)
    host = f"{twins.base_url.scheme}://{twins.base_url.host}"
    response = twins.post(f"{host}{PREFIX}{path}", content=content, headers={"content-type": kind})
    assert response.status_code == 200, f"{path}: {response.text}"
