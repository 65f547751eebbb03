"""The page of the lineage."""

from __future__ import annotations

import threading

import pytest
from fastapi.testclient import TestClient

from calve.backfill.lineage.loading import forget_lineage
from calve.engine.orchestrator import Orchestrator
from calve.state.database import Database
from calve.steps.incremental.shared import close_ledgers
from calve.ui.views.lineage import reading
from calve.workflow.definition import load_yaml
from support.engine_rows import set_run, start

pytestmark = pytest.mark.slow
CHAIN = {
    "first": "type: Spark, script: INSERT INTO db.mid SELECT * FROM db.raw",
    "second": "type: Spark, script: INSERT INTO db.end SELECT * FROM db.mid",
    "third": "type: Shell, script: echo",
}


@pytest.fixture
def _pushed(orchestrator: Orchestrator) -> None:
    for name, job in CHAIN.items():
        text = f"Workflow: {{id: {name}, jobs: [{{job: {{id: a, {job}}}}}]}}"
        orchestrator.push(load_yaml(text).definition, "tester")


def test_without_tables_the_page_says_what_makes_some(browser: TestClient) -> None:
    page = browser.get("/lineage")
    assert page.status_code == 200
    assert "No pushed workflow reads or writes a table." in page.text


@pytest.mark.usefixtures("_pushed")
def test_the_whole_graph_is_drawn_and_told_as_a_table(browser: TestClient, twins: TestClient) -> None:
    found = twins.get("/lineage").json()
    assert {box["id"]: box["label"] for box in found["picture"]["boxes"]} == {
        "workflow:first": "first",
        "workflow:second": "second",
        "table:lake.db.raw": "db.raw",
        "table:lake.db.mid": "db.mid",
        "table:lake.db.end": "db.end",
    }
    places = {box["id"]: box["x"] for box in found["picture"]["boxes"]}
    assert places["table:lake.db.raw"] < places["workflow:first"] < places["table:lake.db.mid"]
    assert (found["shown"], found["total"], found["unconnected"]) == (5, 5, 1)
    assert [(row["workflow_id"], row["reads"], row["writes"]) for row in found["workflows"]] == [
        ("first", ["lake.db.raw"], ["lake.db.mid"]),
        ("second", ["lake.db.mid"], ["lake.db.end"]),
    ]
    page = browser.get("/lineage").text
    assert 'href="/tables/lake.db.mid"' in page
    assert 'href="/workflows/second"' in page


@pytest.mark.usefixtures("_pushed")
def test_nodes_are_coloured_and_worded_by_how_fresh_they_are(
    orchestrator: Orchestrator, database: Database, browser: TestClient, twins: TestClient
) -> None:
    for name, status in (("first", "SUCCEEDED"), ("second", "FAILED")):
        orchestrator.activate(name, "latest", "tester")
        set_run(database, start(database, name).run, status=status)
    facts = twins.get("/lineage").json()["facts"]
    assert {node: fact["status"] for node, fact in facts.items()} == {
        "workflow:first": "FRESH",
        "table:lake.db.mid": "FRESH",
        "workflow:second": "LATE",
        "table:lake.db.end": "LATE",
        "table:lake.db.raw": "NONE",
    }
    assert facts["table:lake.db.end"]["note"] == "late: instance 1 failed"
    assert "late: instance 1 failed" in browser.get("/lineage").text


@pytest.mark.usefixtures("_pushed")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("name=db.mid", {"lake.db.raw", "first", "lake.db.mid", "second", "lake.db.end"}),
        ("name=db.mid&direction=upstream", {"lake.db.raw", "first", "lake.db.mid"}),
        ("name=second&direction=downstream", {"second", "lake.db.end"}),
        ("name=third", {"third"}),
    ],
)
def test_around_a_name_only_what_leads_to_it_and_from_it_is_shown(
    twins: TestClient, query: str, expected: set[str]
) -> None:
    found = twins.get(f"/lineage?{query}").json()
    assert {node.partition(":")[2] for node in found["facts"]} == expected
    way = " --" + query.partition("direction=")[2] if "direction" in query else ""
    assert found["command"] == f"calve lineage {found['name']}{way}"


@pytest.mark.usefixtures("_pushed")
def test_a_name_that_is_not_there_is_told_with_the_nearest(browser: TestClient) -> None:
    answer = browser.get("/lineage", params={"name": "secnd"})
    assert answer.status_code == 404
    assert "did you mean &#39;second&#39;?" in answer.text
    hostile = browser.get("/lineage", params={"name": "<script>"})
    assert hostile.status_code == 404
    assert "<script>'" not in hostile.text
    assert browser.get("/lineage?name=second&direction=sideways").status_code == 400


@pytest.mark.usefixtures("_pushed")
def test_a_large_lineage_is_read_beside_the_pages_which_say_so(
    browser: TestClient, twins: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Orchestrator] = []
    forget_lineage()
    monkeypatch.setattr(reading, "AT_ONCE", 2)
    monkeypatch.setattr(reading, "_begin", begun.append)
    for path in ("/lineage", "/lineage?name=second", "/tables"):
        assert "The definitions of 3 workflows are being read" in browser.get(path).text
    reading._read(begun[0])
    assert len(begun) == 3
    found = twins.get("/lineage").json()
    assert (found["unread"], found["shown"]) == (0, 5)
    close_ledgers()


def test_two_readers_of_the_same_state_are_one(
    orchestrator: Orchestrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Orchestrator] = []
    may_end = threading.Event()

    def slowly(mine: Orchestrator) -> None:
        read.append(mine)
        may_end.wait(10)
        with reading._lock:
            reading._reading.discard(mine.database.url)

    monkeypatch.setattr(reading, "_read", slowly)
    reading._begin(orchestrator)
    reading._begin(orchestrator)
    may_end.set()
    assert read == [orchestrator]
