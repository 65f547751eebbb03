from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.state.database import Database
from calve.ui.views.signals import finding
from support.engine_rows import NOW, add_step, push_jobs, push_yaml, set_run, start

pytestmark = pytest.mark.slow

TRIGGERED = """
Trigger: {signal: orders/ready}
Workflow: {id: wf, jobs: [{job: {id: a, type: NoOp}}]}
"""


def test_an_empty_list_says_so(browser: TestClient) -> None:
    page = browser.get("/signals")
    assert page.status_code == 200
    assert "No signal was sent yet." in page.text
    assert "Nobody waits for a signal." in page.text


def test_the_newest_come_first_with_their_params(
    browser: TestClient, twins: TestClient, orchestrator: Orchestrator
) -> None:
    orchestrator.send_signal("a", {"day": 1}, {}, None)
    orchestrator.send_signal("<b>", {"text": "<i>"}, {"more": "<u>"}, None)
    found = twins.get("/signals").json()["signals"]
    assert [(one["name"], one["seq_id"]) for one in found] == [("<b>", 1), ("a", 1)]
    page = browser.get("/signals").text
    assert "day=1" in page
    assert "text=&lt;i&gt;" in page
    assert "<u>" not in page


def test_up_to_when_a_table_is_complete_is_told_as_a_time(
    browser: TestClient, orchestrator: Orchestrator
) -> None:
    moment = 1_794_700_800_000
    orchestrator.send_signal("valid_through:lake.db.t", {"valid_through": moment}, {}, None)
    # Signals of others may have such a param too, with a meaning of its own.
    orchestrator.send_signal("mine", {"valid_through": "soon"}, {}, None)
    page = browser.get("/signals").text
    assert page.count("2026-11-15 00:00:00 UTC") == 1
    assert "valid_through=soon" in page


def test_signals_of_one_name_are_in_pages(twins: TestClient, orchestrator: Orchestrator) -> None:
    for number in range(60):
        orchestrator.send_signal("a", {"n": number}, {}, None)
        orchestrator.send_signal("b", {"n": number}, {}, None)
    first = twins.get("/signals?name=a").json()
    assert [one["seq_id"] for one in first["signals"]] == list(range(60, 10, -1))
    second = twins.get(first["older"]).json()
    assert [one["seq_id"] for one in second["signals"]] == list(range(10, 0, -1))
    assert (second["older"], second["newer"]) == (None, "/signals?name=a")
    everything = twins.get("/signals").json()
    assert len({(one["name"], one["seq_id"]) for one in everything["signals"]}) == 50
    assert twins.get(everything["older"]).json()["older"] is not None


def test_who_waits_is_told(browser: TestClient, twins: TestClient, database: Database) -> None:
    push_yaml(database, TRIGGERED)
    push_jobs(database, "other", "waits")
    run = start(database, "other").run
    set_run(database, run, status="IN_PROGRESS")
    condition = {"param": "day", "operator": ">=", "value": 5}
    dependencies = [
        {"name": "db/ready", "status": "PENDING", "conditions": [condition]},
        {"name": "came", "status": "MATCHED", "conditions": []},
    ]
    add_step(database, run, "waits", "WAITING_FOR_SIGNALS", dependencies=json.dumps(dependencies))
    waiting = twins.get("/signals").json()["waiting"]
    assert [(one["signal"], one["workflow_id"]) for one in waiting["subscribers"]] == [("orders/ready", "wf")]
    (step,) = waiting["steps"]
    assert (step["signal"], step["conditions"]) == ("db/ready", ["day >= 5"])
    assert 'href="/workflows/other/instances/1/steps/waits"' in browser.get("/signals?name=db/ready").text
    assert twins.get("/signals?name=orders/ready").json()["waiting"]["steps"] == []


def wait_for(database: Database, signal: str, created_at: int) -> None:
    """A run with a step that waits for a signal."""
    run = start(database, "other").run
    set_run(database, run, status="IN_PROGRESS", created_at=created_at)
    dependencies = json.dumps([{"name": signal, "status": "PENDING", "conditions": []}])
    add_step(database, run, "waits", "WAITING_FOR_SIGNALS", dependencies=dependencies)


def test_who_waits_for_a_signal_is_found_among_many_that_wait_for_others(
    browser: TestClient, twins: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_jobs(database, "other", "waits", run_strategy="parallel")
    for number in range(5):
        wait_for(database, "often", NOW - number)
    wait_for(database, "seldom", NOW + 1)
    monkeypatch.setattr(finding, "_WAITING", 3)
    found = twins.get("/signals?name=seldom").json()["waiting"]
    assert [one["instance_id"] for one in found["steps"]] == [6]
    assert not found["is_cut"]
    often = twins.get("/signals?name=often").json()["waiting"]
    assert [one["instance_id"] for one in often["steps"]] == [5, 4, 3]
    assert often["is_cut"]
    assert "There may be more" in browser.get("/signals").text


def test_nobody_is_said_to_wait_only_if_everything_was_looked_at(
    browser: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_jobs(database, "other", "waits", run_strategy="parallel")
    for number in range(3):
        wait_for(database, "often", NOW + number)
    assert "Nobody waits for this signal." in browser.get("/signals?name=x").text
    monkeypatch.setattr(finding, "_LIVE_RUNS", 2)
    page = browser.get("/signals?name=x").text
    assert "Nobody waits for this signal." not in page
    assert "Nobody was found, and yet somebody may wait" in page


def test_workflows_that_signals_start_are_cut_with_a_word(
    twins: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "_WAITING", 1)
    push_yaml(database, TRIGGERED)
    assert not twins.get("/signals").json()["waiting"]["is_cut"]
    push_yaml(database, TRIGGERED.replace("id: wf", "id: wf2"))
    waiting = twins.get("/signals").json()["waiting"]
    assert (len(waiting["subscribers"]), waiting["is_cut"]) == (1, True)


def test_a_signal_is_sent_once(browser: TestClient, orchestrator: Orchestrator) -> None:
    form = {"name": " a/b ", "params": "day=20240101\n\ntext = x=y", "payload": '{"k": [1]}'}
    answer = browser.post("/signals", data=form)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/signals?told=The+signal+a%2Fb+is+sent%2C+as+number+1."
    sent = orchestrator.get_signal("a/b")
    assert (dict(sent.params), dict(sent.payload)) == ({"day": 20240101, "text": "x=y"}, {"k": [1]})
    assert "was+sent+before" in browser.post("/signals", data=form).headers["location"]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": ""}, "the name of a signal is"),
        ({"name": "a", "params": "<day"}, "found the param &#39;&lt;day&#39;"),
        ({"name": "a", "payload": "[1]"}, "the payload is no JSON object"),
        ({"name": "a", "payload": "{"}, "the payload is no JSON object"),
        ({"name": "a", "payload": '{"a":' + "[" * 200 + "]" * 200 + "}"}, "nested more than"),
        ({"name": "a", "payload": '{"a":' + "[" * 9_000 + "]" * 9_000 + "}"}, "nested more than"),
        ({"name": "valid_through:lake.a.b", "params": "valid_through=soon"}, "no moment"),
    ],
)
def test_a_wrong_signal_shows_the_form_again(browser: TestClient, form: dict[str, str], said: str) -> None:
    page = browser.post("/signals", data={**form, "request_id": "kept-1"})
    assert page.status_code == 400
    assert said in page.text
    assert 'value="kept-1"' in page.text


def test_a_broken_cursor_is_refused(browser: TestClient) -> None:
    assert browser.get("/signals?cursor=x").status_code == 400
