"""Lag, watermarks and triggers over REST."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.engine.triggers.tables.watcher import TableWatcher
from calve.steps.incremental.shared import close_ledgers
from support.ledgers import append, make_ledger, make_table

pytestmark = pytest.mark.slow

WORKFLOW = """
Trigger: [{cron: '@daily'}, {signal: s}, {incremental: db.t}]
Workflow: {id: w, jobs: [{job: {id: a, type: NoOp}}]}
"""


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_ledgers()


def test_lag_is_told_for_each_consumer_and_table(orchestrator: Orchestrator, api: TestClient) -> None:
    with make_ledger(orchestrator.settings.home) as ledger:
        one, two = make_table(ledger, "db.one"), make_table(ledger, "db.two")
        for table in (one, two):
            append(table, 1)
        ledger.capture("db.one", consumer="a").commit()
        ledger.capture("db.one", "db.two", consumer="b").commit()
        append(one, 2, 3)
    found = api.get("/lag").json()["lag"]
    numbers = ("consumer", "table", "snapshots", "files", "records")
    assert [tuple(one[key] for key in numbers) for one in found] == [
        ("a", "lake.db.one", 1, 1, 2),
        ("b", "lake.db.one", 1, 1, 2),
        ("b", "lake.db.two", 0, 0, 0),
    ]
    assert (found[0]["bytes"] > 0, found[0]["seconds"] > 0) == (True, True)
    assert len(api.get("/lag", params={"consumer": "b"}).json()["lag"]) == 2
    assert len(api.get("/lag", params={"table": "db.two"}).json()["lag"]) == 1
    unknown = api.get("/lag", params={"consumer": "nobody"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "CONSUMER_NOT_FOUND")


def test_up_to_which_time_a_table_is_complete(api: TestClient) -> None:
    path = "/tables/db.t/valid-through"
    assert api.get(path).json()["code"] == "VALID_THROUGH_UNKNOWN"
    said = api.put(path, json={"valid_through": "2024-01-31T00:00:00Z"}).json()
    assert (said["table"], said["valid_through"]) == ("lake.db.t", 1_706_659_200_000)
    assert api.put(path, json={"valid_through": 0}).json() == said
    assert api.get("/tables/lake.db.t/valid-through").json() == said
    wrong = api.put(path, json={"valid_through": "soon"})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "VALID_THROUGH_INVALID")
    assert (
        api.put("/tables/t/valid-through", json={"valid_through": 0}).json()["code"] == "TABLE_NAME_INVALID"
    )


def test_triggers_say_what_they_wait_for_and_why(orchestrator: Orchestrator, api: TestClient) -> None:
    assert api.post("/workflows/yaml", content=WORKFLOW).status_code == 200
    found = api.get("/workflows/w/triggers").json()
    assert [len(found[kind]) for kind in ("time_triggers", "signal_triggers", "incremental_triggers")] == [
        1,
        1,
        1,
    ]
    assert found["incremental_triggers"][0]["decision"] is None
    TableWatcher(orchestrator.settings, orchestrator.database).look()
    (trigger,) = api.get("/workflows/w/triggers").json()["incremental_triggers"]
    assert (trigger["definition"], trigger["is_active"]) == ({"tables": ["db.t"]}, True)
    assert (trigger["decision"]["what"], trigger["workflow_instance_id"]) == ("error", None)
    assert trigger["decision"]["tables"][0]["error"]["code"] == "TABLE_NOT_FOUND"
    assert api.get("/workflows/none/triggers").status_code == 404
