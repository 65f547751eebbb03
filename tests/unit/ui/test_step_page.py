"""The page of a step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.engine.places import attempt_place
from calve.state.database import Database
from calve.steps.contract import LOG_FILE
from calve.ui.views.steps import children as step_children
from support.engine_rows import NOW, add_run, add_step, evaluated, push_yaml, set_run, start

pytestmark = pytest.mark.slow

YAML = """
Workflow:
  id: wf
  jobs:
    - job: {id: a, type: NoOp}
    - foreach: {id: loop, params: {x: [1, 2, 3, 4]}, jobs: [{job: {id: leaf, type: NoOp}}]}
    - subworkflow: {id: sub, workflow_id: other}
"""
HERE = "/workflows/wf/instances/1/steps"


@pytest.fixture
def run(database: Database) -> int:
    push_yaml(database, YAML)
    key = start(database, "wf").run
    set_run(database, key, status="IN_PROGRESS", started_at=NOW)
    return key


def model(twins: TestClient, path: str, **query: Any) -> dict[str, Any]:
    answer = twins.get(HERE + path, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def write_log(orchestrator: Orchestrator, text: str, run_id: int = 1, attempt: int = 1) -> Path:
    place = attempt_place(orchestrator.settings, "wf", 1, run_id, "a", attempt)
    place.mkdir(parents=True)
    file = place / LOG_FILE
    file.write_text(text)
    return file


@pytest.mark.usefixtures("run")
def test_a_step_that_has_not_begun_says_so(browser: TestClient) -> None:
    page = browser.get(f"{HERE}/a")
    assert page.status_code == 200
    assert "This step has not begun." in page.text
    assert "not created" in page.text


def test_attempts_are_tabs_and_the_newest_is_shown(run: int, database: Database, twins: TestClient) -> None:
    add_step(database, run, "a", "USER_FAILED", ended_at=NOW)
    add_step(database, run, "a", "RUNNING", attempt_id=2, started_at=NOW)
    newest, first = model(twins, "/a"), model(twins, "/a", run=1, attempt=1)
    assert (newest["step"]["attempt_id"], first["step"]["attempt_id"]) == (2, 1)
    assert [(one["attempt_id"], one["is_shown"]) for one in newest["attempts"]] == [(1, False), (2, True)]
    assert [(one["status"], one["took"]) for one in first["way"]] == [
        ("CREATED", 1),
        ("INITIALIZED", 1),
        ("USER_FAILED", 0),
    ]


def test_a_long_error_is_folded_away_behind_its_first_line(
    run: int, database: Database, browser: TestClient
) -> None:
    message = "it broke <b>\n" + "Traceback\n" * 50
    error = json.dumps({"code": "X", "message": message, "remedy": "mend it"})
    add_step(database, run, "a", "FATALLY_FAILED", error=error)
    text = browser.get(f"{HERE}/a").text
    assert "<b>it broke &lt;b&gt;</b>" in text
    assert "mend it" in text
    assert text.index("<details") < text.index("Traceback")


def test_params_artifacts_progress_and_signals_are_shown(
    run: int, database: Database, browser: TestClient, twins: TestClient
) -> None:
    waits = [
        {"name": "day/done", "status": "PENDING", "conditions": [{"param": "d", "operator": "=", "value": 3}]}
    ]
    add_step(
        database, run, "a", "RUNNING",
        params=evaluated(rows=3, text="x" * 5_000),
        artifacts=json.dumps({"sql": "select 1"}),
        progress=json.dumps({"fraction": 0.25, "message": "stage 1", "tasks": 8}),
        dependencies=json.dumps(waits),
    )  # fmt: skip
    text = browser.get(f"{HERE}/a").text
    assert "5,000 characters" in text
    assert "select 1" in text
    assert '<progress value="0.25" max="1"' in text
    assert "tasks <b>8</b>" in text
    assert "d = 3" in text
    assert model(twins, "/a")["step"]["params"][0]["value"] == 3


def test_the_log_is_on_the_page_and_goes_on_from_its_end(
    run: int, database: Database, orchestrator: Orchestrator, browser: TestClient
) -> None:
    add_step(database, run, "a", "RUNNING")
    write_log(orchestrator, "hello <i>\n")
    text = browser.get(f"{HERE}/a").text
    assert "hello &lt;i&gt;" in text
    address = "/api/v3/workflows/wf/instances/1/steps/a/logs?run=1&amp;attempt=1"
    assert f'data-log="{address}" data-offset="10"' in text
    piece = browser.get(address.replace("&amp;", "&") + "&offset=6").json()
    assert {key: piece[key] for key in ("text", "next_offset", "complete")} == {
        "text": "<i>\n",
        "next_offset": 10,
        "complete": False,
    }


def test_a_log_that_is_complete_is_not_followed(
    run: int, database: Database, orchestrator: Orchestrator, browser: TestClient
) -> None:
    add_step(database, run, "a", "SUCCEEDED", ended_at=NOW)
    write_log(orchestrator, "".join(f"line {number}\n" for number in range(1_000)))
    text = browser.get(f"{HERE}/a").text
    assert "data-log=" not in text
    assert "line 999" in text
    assert "line 5\n" not in text
    assert "The end of it." in text


def test_a_step_that_was_not_run_again_shows_the_log_of_the_run_that_did(
    run: int, database: Database, orchestrator: Orchestrator, browser: TestClient
) -> None:
    add_step(database, run, "a", "SUCCEEDED", uuid="same")
    write_log(orchestrator, "from the first run\n")
    again = add_run(database, run, run_id=2, uuid="u2")
    add_step(database, again, "a", "SUCCEEDED", uuid="same", carried=True)
    text = browser.get(f"{HERE}/a").text
    assert "from the first run" in text
    assert 'It was done by <a href="/workflows/wf/instances/1/runs/1">run 1</a>' in text


@pytest.fixture
def loop(run: int, database: Database) -> int:
    """Four iterations, the third of which failed."""
    handle = {"total": 4, "next": 5, "active": 1, "ended": {"SUCCEEDED": 2, "FAILED": 1}}
    add_step(database, run, "loop", "RUNNING", handle=json.dumps(handle))
    for number, status in enumerate(("SUCCEEDED", "SUCCEEDED", "FAILED", "IN_PROGRESS"), 1):
        add_run(
            database, run, workflow_id="maestro_foreach_1", instance_id=number, inline=True, latest=True,
            uuid=f"i{number}", parent_run=run, parent_step="loop", status=status, params=evaluated(x=number),
        )  # fmt: skip
    return run


@pytest.mark.usefixtures("loop")
def test_failed_iterations_come_first_and_link_to_their_runs(browser: TestClient, twins: TestClient) -> None:
    found = model(twins, "/loop")["iterations"]
    assert [(one["name"], one["count"]) for one in found["filters"]] == [
        ("failed", 1),
        ("running", 1),
        ("succeeded", 2),
        ("all", 4),
    ]
    assert [(one["number"], one["values"], one["href"]) for one in found["iterations"]] == [
        ("3", {"x": "3"}, "/workflows/maestro_foreach_1/instances/3/runs/1")
    ]
    assert "x=3" in browser.get(f"{HERE}/loop").text


@pytest.mark.usefixtures("loop")
def test_iterations_are_paged_by_a_cursor(twins: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_children, "SIZE", 3)
    first = model(twins, "/loop", show="all")["iterations"]
    assert [one["number"] for one in first["iterations"]] == ["1", "2", "3"]
    rest = twins.get(first["older"]).json()["iterations"]
    assert ([one["number"] for one in rest["iterations"]], rest["older"]) == (["4"], None)


@pytest.mark.usefixtures("loop")
def test_a_filter_that_is_none_is_refused(browser: TestClient) -> None:
    assert browser.get(f"{HERE}/loop?show=odd").status_code == 400


def test_a_subworkflow_links_to_the_run_that_it_started(
    run: int, database: Database, browser: TestClient
) -> None:
    inner = add_run(database, run, workflow_id="other", uuid="o", parent_run=run, parent_step="sub")
    add_step(database, run, "sub", "RUNNING", handle=json.dumps({"run": inner}))
    assert 'href="/workflows/other/instances/1/runs/1"' in browser.get(f"{HERE}/sub").text


@pytest.mark.parametrize("path", ["/gone", "/a?attempt=7", "/a?run=7"])
@pytest.mark.usefixtures("run")
def test_what_is_not_there_is_a_page_with_404(browser: TestClient, path: str) -> None:
    page = browser.get(HERE + path)
    assert page.status_code == 404
    assert "<h1>" in page.text
