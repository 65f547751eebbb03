from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from calve.backfill.lineage import loading
from calve.backfill.lineage.model import WorkflowTables
from calve.backfill.lineage.reading import read_tables
from calve.engine.orchestrator import Orchestrator
from calve.state.database import Database
from calve.state.orchestration import incremental_triggers
from calve.ui.views.lineage.reading import read_all
from calve.workflow.definition import Workflow
from support.engine_rows import NOW, add_step, push_jobs, push_yaml, set_run, start

pytestmark = pytest.mark.slow

BRANCHING = """
Description: tells of <b>orders</b>
Trigger:
  - {cron: "0 3 * * *"}
  - {signal: [orders/ready, prices/ready]}
Workflow:
  id: wf
  owner: dora
  region: eu
  jobs:
    - job: {id: a, type: NoOp}
    - foreach:
        id: each
        params: {x: [1]}
        jobs:
          - job: {id: one, type: NoOp}
          - job: {id: two, type: NoOp}
    - subworkflow: {id: sub, workflow_id: other}
  dag:
    a: ["IF region == 'eu' THEN each", "OTHERWISE sub"]
"""
INCREMENTAL = """
Trigger: {incremental: {tables: [db.orders], min_rows: 100}}
Workflow:
  id: ips
  jobs:
    - job: {id: capture, type: IpCapture, ip_capture: {source_tables: [db.orders]}}
    - job: {id: commit, type: IpCommit}
  dag: sequential
"""
LOOK = {
    "table": "lake.db.orders",
    "branch": "main",
    "consumer": "ips/capture",
    "snapshots": 3,
    "files": 4,
    "rows": 50,
    "bytes": 600,
    "error": None,
}


def test_an_unknown_workflow_gives_a_page_with_the_nearest(browser: TestClient, database: Database) -> None:
    push_jobs(database, "orders", "a")
    page = browser.get("/workflows/ordres")
    assert page.status_code == 404
    assert "did you mean &#39;orders&#39;?" in page.text


def test_the_head_tells_versions_owner_and_description(browser: TestClient, database: Database) -> None:
    push_yaml(database, BRANCHING)
    page = browser.get("/workflows/wf").text
    assert "active version <b>1</b>" in page
    assert 'href="/workflows?owner=dora"' in page
    assert "&lt;b&gt;orders&lt;/b&gt;" in page
    assert "calve runs wf" in page


def test_the_graph_says_conditions_and_what_is_inside_of_loops(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_yaml(database, BRANCHING)
    page = browser.get("/workflows/wf").text
    assert "a → each, if region == &#39;eu&#39;" in page
    graph = twins.get("/workflows/wf").json()["graph"]
    notes = {name: fact["note"] for name, fact in graph["facts"].items()}
    assert notes == {"a": "NoOp", "each": "foreach, 2 steps inside", "sub": "runs other"}
    assert {box["id"] for box in graph["picture"]["boxes"]} == set(notes)
    assert len(graph["conditions"]) == 2


def test_the_grid_has_a_cell_for_each_step_that_began(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_jobs(database, "wf", "a", "b", run_strategy="parallel")
    first, second = start(database, "wf").run, start(database, "wf").run
    set_run(database, first, status="FAILED", started_at=NOW, ended_at=NOW + 9000)
    add_step(database, first, "a", "USER_FAILED", 1)
    add_step(database, first, "a", "FATALLY_FAILED", 2, started_at=NOW, ended_at=NOW + 2000)
    add_step(database, first, "gone", "SUCCEEDED")
    add_step(database, second, "a", "RUNNING")
    grid = twins.get("/workflows/wf").json()["grid"]
    assert [one["instance_id"] for one in grid["instances"]] == [2, 1]
    rows = {row["step_id"]: row for row in grid["rows"]}
    assert list(rows) == ["a", "b", "gone"]
    assert [rows[name]["is_defined"] for name in rows] == [True, True, False]
    running, failed = rows["a"]["cells"]
    assert (running["status"], failed["status"]) == ("RUNNING", "FATALLY_FAILED")
    assert failed["title"] == "a in 1: fatally failed, 2.0 s, attempt 2"
    assert failed["href"] == "/workflows/wf/instances/1/steps/a"
    assert rows["b"]["cells"] == [None, None]
    assert 'href="/workflows/wf/instances/1/steps/a"' in browser.get("/workflows/wf").text


def test_older_instances_are_on_the_next_page(twins: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a", run_strategy="parallel")
    for _ in range(30):
        start(database, "wf")
    first = twins.get("/workflows/wf").json()
    assert [one["instance_id"] for one in first["grid"]["instances"]] == list(range(30, 5, -1))
    assert first["older"] == "/workflows/wf?cursor=6"
    second = twins.get(first["older"]).json()
    assert [one["instance_id"] for one in second["grid"]["instances"]] == [5, 4, 3, 2, 1]
    assert (second["newer"], second["older"]) == ("/workflows/wf", None)


def test_a_workflow_with_many_steps_shows_fewer_instances(twins: TestClient, database: Database) -> None:
    push_jobs(database, "wf", *(f"s{number}" for number in range(200)), run_strategy="parallel")
    for _ in range(15):
        start(database, "wf")
    assert len(twins.get("/workflows/wf").json()["grid"]["instances"]) == 12


def test_triggers_are_told_in_words(
    browser: TestClient, twins: TestClient, orchestrator: Orchestrator, database: Database
) -> None:
    push_yaml(database, BRANCHING)
    page = browser.get("/workflows/wf?tab=triggers").text
    assert "0 3 * * * UTC" in page
    assert "It waits for orders/ready and prices/ready." in page
    orchestrator.send_signal("orders/ready", {}, {}, None)
    assert (
        "It waits for prices/ready; orders/ready is here." in browser.get("/workflows/wf?tab=triggers").text
    )
    kinds = [one["kind"] for one in twins.get("/workflows/wf?tab=triggers").json()["triggers"]]
    assert kinds == ["time", "signal"]


@pytest.mark.parametrize(
    ("what", "why", "said"),
    [
        ("waiting", "it waits for more", "It waits: it waits for more."),
        (
            "nothing",
            "there is nothing to process",
            "It does not run: up to date, there is nothing to process.",
        ),
        ("held", "instance 3 is FAILED", "It is held back: instance 3 is FAILED."),
        ("error", "no such table", "It cannot tell: no such table."),
        ("start", "3 snapshots wait", "It started a run: 3 snapshots wait."),
    ],
)
def test_a_trigger_on_tables_says_why_it_did_or_did_not_start(
    browser: TestClient, database: Database, what: str, why: str, said: str
) -> None:
    push_yaml(database, INCREMENTAL)
    assert "Nobody has looked at its tables yet" in browser.get("/workflows/ips?tab=triggers").text
    decision = json.dumps({"what": what, "why": why, "tables": [LOOK]})
    with database.write() as connection:
        connection.execute(update(incremental_triggers).values(decision=decision, looked_at=NOW))
    page = browser.get("/workflows/ips?tab=triggers").text
    assert said in page
    assert 'href="/tables/lake.db.orders"' in page


def test_tables_and_lag_are_shown_and_what_cannot_be_read_is_said(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_yaml(database, INCREMENTAL)
    page = browser.get("/workflows/ips?tab=tables")
    assert page.status_code == 200
    assert 'href="/tables/lake.db.orders"' in page.text
    found = twins.get("/workflows/ips?tab=tables").json()
    assert [one["table"] for one in found["tables"]["reads"]] == ["lake.db.orders"]
    assert found["lag"][0]["consumer"] == "ips/capture"
    assert found["lag"][0]["error"]["message"] in page.text.replace("&#39;", "'")


def test_tables_of_a_workflow_are_shown_without_reading_those_of_others(
    browser: TestClient, twins: TestClient, orchestrator: Orchestrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_yaml(orchestrator.database, INCREMENTAL)
    push_jobs(orchestrator.database, "other", "a")
    read: list[str] = []

    def note(workflow: Workflow, *more: Any, **options: Any) -> WorkflowTables:
        read.append(workflow.id)
        return read_tables(workflow, *more, **options)

    loading.forget_lineage()
    monkeypatch.setattr(loading, "read_tables", note)
    assert 'id="lag" data-live' in browser.get("/workflows/ips?tab=tables").text
    assert read == ["ips"]
    read_all(orchestrator)
    read.clear()
    (found,) = twins.get("/workflows/ips?tab=tables").json()["tables"]["reads"]
    assert found["table"] == "lake.db.orders"
    assert read == []


def test_history_tells_what_people_did_and_the_properties(
    browser: TestClient, orchestrator: Orchestrator, database: Database
) -> None:
    push_jobs(database, "wf", "a", owner="dora")
    orchestrator.pause("wf", "otto")
    page = browser.get("/workflows/wf?tab=history").text
    assert "paused" in page
    assert "otto" in page
    assert "dora" in page


def test_an_unknown_tab_is_refused(browser: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a")
    assert browser.get("/workflows/wf?tab=nothing").status_code == 400


def test_the_queue_is_paused_and_resumed(browser: TestClient, twins: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a")
    answer = browser.post("/workflows/wf/actions/pause")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/workflows/wf?told=The+queue+is+held")
    assert twins.get("/workflows/wf").json()["head"]["paused"] is True
    assert "Resume the queue" in browser.get("/workflows/wf").text
    browser.post("/workflows/wf/actions/resume")
    assert twins.get("/workflows/wf").json()["head"]["paused"] is False


def test_versions_are_activated_and_deactivated_by_whoever_asks(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_jobs(database, "wf", "a")
    push_jobs(database, "wf", "a", "b")
    browser.post("/workflows/wf/activate", data={"version": "1"}, headers={"user": "otto"})
    assert twins.get("/workflows/wf").json()["head"]["active_version"] == 1
    assert "Activate version 2" in browser.get("/workflows/wf").text
    browser.post("/workflows/wf/deactivate")
    assert twins.get("/workflows/wf").json()["head"]["active_version"] is None
    timeline = twins.get("/workflows/wf?tab=history").json()["timeline"]
    assert [(one["author"], one["text"]) for one in timeline[:2]] == [
        ("ui", "deactivated version 1"),
        ("otto", "activated version 1"),
    ]


def test_all_instances_are_stopped_and_failed_ones_unblocked(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_jobs(database, "wf", "a")
    blocking = start(database, "wf").run
    set_run(database, blocking, status="FAILED", blocking=True)
    start(database, "wf")
    assert "Let the sequence go on past 1 failed instance?" in browser.get("/workflows/wf").text
    assert browser.post("/workflows/wf/actions/unblock").headers["location"].endswith("%3A+1.")
    assert browser.post("/workflows/wf/actions/stop").headers["location"].endswith("%3A+1.")
    head = twins.get("/workflows/wf").json()["head"]
    assert (head["blocking"], head["unfinished"]) == (0, {})


def test_an_unknown_action_gives_an_error_page(browser: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a")
    page = browser.post("/workflows/wf/actions/dance")
    assert page.status_code == 400
    assert "dance" in page.text
