from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from calve.backfill.service import Backfills
from calve.backfill.statuses import BackfillStatus, Phase
from calve.state.database import Database
from calve.steps.incremental.shared import close_ledgers
from calve.ui.views.backfills import listing as backfills
from support.backfill_states import branch_state, enter, keep_plan, queue_chunks, set_status
from support.backfill_world import World
from support.engine_runs import EngineRuns

pytestmark = pytest.mark.slow


def test_the_list_says_where_there_is_none(browser: TestClient) -> None:
    page = browser.get("/backfills")
    assert page.status_code == 200
    assert "No backfill was planned yet." in page.text
    assert "/backfills/new" in page.text


def test_the_list_has_status_range_reason_and_progress(
    database: Database, browser: TestClient, twins: TestClient
) -> None:
    keep_plan(database, reason="<i>why</i>")
    runs = set_status(database, keep_plan(database), BackfillStatus.RUNNING)
    queue_chunks(database, runs, ["SUCCEEDED", "FAILED", None])
    enter(database, runs, 0, Phase.WAITING, **branch_state())
    page = browser.get("/backfills").text
    assert "&lt;i&gt;why&lt;/i&gt;" in page
    assert "waits for you" in page
    newest, planned = twins.get("/backfills").json()["backfills"]
    assert (planned["status"], planned["from"], planned["to"]) == ("PLANNED", "2024-01-01", "2024-01-05")
    assert planned["chunks"] is None
    assert (newest["status"], newest["chunks"]) == ("RUNNING", {"done": 1, "total": 3})
    assert (newest["stages_published"], newest["stages"], newest["waits"]) == (0, 2, True)


def test_the_list_goes_on_by_cursor(
    database: Database, twins: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfills, "_SIZE", 2)
    for _ in range(5):
        keep_plan(database)
    first = twins.get("/backfills").json()
    assert ([x["backfill_id"] for x in first["backfills"]], first["newer"]) == ([5, 4], None)
    second = twins.get(first["older"]).json()
    assert [x["backfill_id"] for x in second["backfills"]] == [3, 2]
    assert twins.get(second["newer"]).json()["backfills"] == first["backfills"]
    assert twins.get(twins.get(second["older"]).json()["newer"]).json()["backfills"] == second["backfills"]


def test_a_form_knows_the_workflow_it_was_asked_for(browser: TestClient) -> None:
    page = browser.get("/backfills/new", params={"workflow": '"><b>'})
    assert page.status_code == 200
    assert 'value="&#34;&gt;&lt;b&gt;"' in page.text


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("workflow_id", "", "workflow_id: nothing was given"),
        ("workflow_id", "nobody", "nobody"),
        ("concurrency", "many", "found &#39;many&#39;"),
        ("params", "no assignment", "one NAME=VALUE a line"),
        ("thresholds", "max_rows=1", "max_rows"),
        ("order", "sideways", "order"),
    ],
)
def test_a_form_that_is_wrong_is_shown_again_with_what_was_typed(
    browser: TestClient, field: str, text: str, told: str
) -> None:
    typed = {"workflow_id": "a", "from": "2024-01-02", "to": "2024-01-04", "reason": "<why>", field: text}
    answer = browser.post("/backfills", data=typed)
    assert answer.status_code in (400, 404)
    assert told in answer.text
    assert 'value="&lt;why&gt;"' in answer.text
    assert 'value="2024-01-02"' in answer.text


@pytest.fixture
def world(home: Path, database: Database) -> Iterator[World]:
    """Tables and workflows of the home behind the pages; no engine is at work in it."""
    yield World(EngineRuns(home, database))
    close_ledgers()


@pytest.mark.slow
def test_a_form_plans_for_real_and_leads_to_the_plan(world: World, browser: TestClient) -> None:
    world.table("events", days=5)
    world.table("daily", days=5)
    world.merges("a", "events", "daily")
    typed = {
        "workflow_id": "a", "from": "2024-01-02", "to": "2024-01-05", "chunk": "2files", "downstream": "none",
        "reason": "new logic", "keys": "db.daily=id, day", "thresholds": "max_removed_rows=3",
        "params": "x={from}\n", "concurrency": "4", "keep_rows": "1",
    }  # fmt: skip
    answer = browser.post("/backfills", data=typed)
    assert (answer.status_code, answer.headers["location"]) == (303, "/backfills/1")
    kept = Backfills(world.calve.calve).get(1)
    assert (kept.author, kept.reason, kept.concurrency) == ("ui", "new logic", 4)
    assert kept.plan.validation.keys == {"lake.db.daily": ("id", "day")}
    assert kept.plan.params == {"x": "{from}"}
    assert kept.plan.stages[0].targets[0].clear_column is None
    page = browser.get("/backfills/1").text
    assert "lake.db.events" in page
    assert "2024-01-02 to before 2024-01-04" in page
    for action, status in (("run", "RUNNING"), ("cancel", "CANCELLED"), ("discard", "CANCELLED")):
        done = browser.post("/backfills/1/actions/" + action, data={"auto_publish": "1"})
        assert done.status_code == 303, done.text
        assert Backfills(world.calve.calve).get(1).status == status
    assert Backfills(world.calve.calve).get(1).auto_publish
