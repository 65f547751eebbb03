"""Lists over REST go on after a cursor, to the end, each entry once."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from calve.backfill.plan import Plan
from calve.backfill.store import add_backfill
from calve.engine.orchestrator import Orchestrator
from calve.engine.views import run_list
from calve.server.examples import ANSWERS
from support.engine_rows import push_jobs, set_run, start

pytestmark = pytest.mark.slow

Entries = list[dict[str, Any]]


def read_all(api: TestClient, path: str, key: str, limit: int = 2, **query: Any) -> list[Entries]:
    """All pages of a list."""
    pages: list[Entries] = []
    cursor: str | None = None
    while True:
        asked = {**query, "limit": limit} | ({"cursor": cursor} if cursor else {})
        found = api.get(path, params=asked).json()
        pages.append(found[key])
        cursor = found["next_cursor"]
        if cursor is None:
            return pages


@pytest.fixture
def ran(api: TestClient, orchestrator: Orchestrator) -> TestClient:
    for name in ("a", "b"):
        push_jobs(orchestrator.database, name, "job")
    for number in range(5):
        run = start(orchestrator.database, "ab"[number % 2]).run
        set_run(orchestrator.database, run, status="FAILED" if number > 1 else "SUCCEEDED")
    return api


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [["a3", "b2"], ["a2", "b1"], ["a1"]]),
        ({"workflow_id": "a"}, [["a3", "a2"], ["a1"]]),
        ({"workflow_id": "b"}, [["b2", "b1"]]),
        ({"status": "failed"}, [["a3", "b2"], ["a2"]]),
        ({"workflow_id": "a", "status": "failed"}, [["a3", "a2"]]),
    ],
)
def test_runs_of_all_and_of_one_workflow(
    ran: TestClient, query: dict[str, str], expected: list[list[str]]
) -> None:
    pages = read_all(ran, "/runs", "runs", 2, **query)
    assert [[f"{one['workflow_id']}{one['instance_id']}" for one in page] for page in pages] == expected


@pytest.mark.parametrize("query", [{}, {"workflow_id": "a"}])
def test_what_is_rare_is_found_however_far_back(
    api: TestClient, orchestrator: Orchestrator, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    monkeypatch.setattr(run_list, "WINDOW", 2)
    push_jobs(orchestrator.database, "a", "job")
    for number in range(9):
        run = start(orchestrator.database, "a").run
        set_run(orchestrator.database, run, status="SUCCEEDED" if number in (1, 7) else "FAILED")
    pages = read_all(api, "/runs", "runs", 2, status="succeeded", **query)
    assert [one["instance_id"] for page in pages for one in page] == [8, 2]
    everything = read_all(api, "/runs", "runs", 4, **query)
    assert [one["instance_id"] for page in everything for one in page] == list(range(9, 0, -1))


def test_signals_of_all_and_of_one_name(api: TestClient) -> None:
    for number in range(3):
        for name in ("x", "y"):
            assert api.post("/signals", json={"name": name, "params": {"n": number}}).status_code == 200
    pages = read_all(api, "/signals", "signals", limit=4)
    assert [(one["name"], one["seq_id"]) for page in pages for one in page] == [
        *(("y", 3), ("x", 3), ("y", 2), ("x", 2), ("y", 1), ("x", 1)),
    ]
    of_one = read_all(api, "/signals", "signals", name="x")
    assert [[one["seq_id"] for one in page] for page in of_one] == [[3, 2], [1]]
    assert api.get("/signals", params={"name": "z"}).json() == {"signals": [], "next_cursor": None}


def test_backfills(api: TestClient, orchestrator: Orchestrator) -> None:
    plan = Plan.from_json(ANSWERS["POST /backfills"]["plan"])
    for _ in range(3):
        with orchestrator.database.write() as connection:
            add_backfill(connection, plan, author="a", reason=None, auto_publish=False, concurrency=1)
    pages = read_all(api, "/backfills", "backfills")
    assert [[one["backfill_id"] for one in page] for page in pages] == [[3, 2], [1]]


@pytest.mark.parametrize("path", ["/runs", "/signals", "/backfills"])
@pytest.mark.parametrize("wrong", [{"cursor": "x"}, {"cursor": "1-2"}, {"cursor": "9" * 30}, {"limit": 0}])
def test_a_cursor_or_a_limit_that_is_none_is_refused(
    api: TestClient, path: str, wrong: dict[str, Any]
) -> None:
    found = api.get(path, params=wrong)
    assert (found.status_code, found.json()["code"]) in ((400, "PAGE_INVALID"), (400, "REQUEST_INVALID"))
