from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.state.database import Database
from calve.workflow.definition import load_json
from support.engine_rows import push_jobs, push_yaml

pytestmark = pytest.mark.slow


def test_a_version_is_shown_as_yaml_with_its_lines_numbered(browser: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a", "b")
    page = browser.get("/workflows/wf/definition")
    assert page.status_code == 200
    assert "<code>  id: wf</code>" in page.text
    assert 'id="line-1"' in page.text
    assert "calve show wf --version 1" in page.text


def test_two_versions_are_laid_against_each_other(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_jobs(database, "wf", "a", "b")
    push_jobs(database, "wf", "a", "c")
    page = browser.get("/workflows/wf/definition?version=2&against=1").text
    assert '<tr class="removed">' in page
    assert '<tr class="added">' in page
    lines = twins.get("/workflows/wf/definition?version=2&against=1").json()["diff"]
    changed = {(one["sign"], one["text"].strip()) for one in lines if one["sign"] in "+-"}
    assert changed == {("-", "id: b"), ("+", "id: c")}


def test_the_older_version_stands_first_whichever_is_shown(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_jobs(database, "wf", "a", "b")
    push_jobs(database, "wf", "a", "c")
    one = twins.get("/workflows/wf/definition?version=2&against=1").json()
    other = twins.get("/workflows/wf/definition?version=1&against=2").json()
    assert one["diff"] == other["diff"]
    assert one["compared"] == other["compared"] == [1, 2]
    page = browser.get("/workflows/wf/definition?version=1&against=2").text
    assert "Version 1 against 2" in page
    assert "<th>1</th><th>2</th>" in page


def test_the_same_version_twice_says_the_same(browser: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a")
    assert (
        "The two versions say the same." in browser.get("/workflows/wf/definition?version=1&against=1").text
    )


def test_what_yaml_cannot_say_is_shown_as_json(
    browser: TestClient, twins: TestClient, orchestrator: Orchestrator
) -> None:
    checked = {"value": 1, "type": "LONG", "validator": "@notNull"}
    workflow = {"id": "wf", "params": {"n": checked}, "steps": [{"step": {"id": "a", "type": "NoOp"}}]}
    orchestrator.push(load_json(json.dumps({"workflow": workflow})).definition, "dora")
    assert twins.get("/workflows/wf/definition").json()["language"] == "JSON"
    assert "Version 1 as JSON" in browser.get("/workflows/wf/definition").text


def test_versions_are_listed_in_pages(twins: TestClient, database: Database) -> None:
    for number in range(20):
        push_jobs(database, "wf", f"a{number}")
    first = twins.get("/workflows/wf/definition").json()
    assert [one["version"] for one in first["versions"]] == list(range(20, 5, -1))
    assert first["newer"] is None
    second = twins.get(first["older"]).json()
    assert [one["version"] for one in second["versions"]] == [5, 4, 3, 2, 1]
    assert second["older"] is None
    back = twins.get(second["newer"]).json()
    assert [one["version"] for one in back["versions"]] == list(range(20, 5, -1))


def test_an_unknown_version_gives_an_error_page(browser: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a")
    assert browser.get("/workflows/wf/definition?version=7").status_code == 404
    assert browser.get("/workflows/wf/definition?version=old").status_code == 400
    assert browser.get("/workflows/wf/definition?against=x").status_code == 400
    assert browser.get("/workflows/none/definition").status_code == 404


def test_lines_are_escaped(browser: TestClient, database: Database) -> None:
    push_yaml(
        database, "Description: <script>x</script>\nWorkflow: {id: wf, jobs: [{job: {id: a, type: NoOp}}]}\n"
    )
    page = browser.get("/workflows/wf/definition").text
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
