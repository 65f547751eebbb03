from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from calve.state.database import Database
from calve.state.orchestration import incremental_triggers, workflows
from support.engine_rows import NOW, push_jobs, push_yaml, set_run, start

pytestmark = pytest.mark.slow

DESCRIBED = """
Description: brings orders into the facts
Trigger: {cron: "0 3 * * *", timezone: Europe/Berlin}
Workflow:
  id: sales.orders
  name: Order facts
  owner: dora
  tags: [gold, daily]
  jobs:
    - job: {id: a, type: NoOp}
"""
TRIGGERED = """
Trigger: {incremental: {tables: [db.orders]}}
Workflow:
  id: ips
  jobs:
    - job: {id: a, type: NoOp}
"""
HELD = '{"what": "held", "why": "no progress", "tables": [{"snapshots": 3, "rows": 1200}]}'


def finish(database: Database, workflow_id: str, status: str, seconds: int = 5) -> int:
    run = start(database, workflow_id).run
    set_run(database, run, status=status, started_at=NOW, ended_at=NOW + seconds * 1000)
    return run


def listed(twins: TestClient, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = twins.get(f"/workflows{query}").json()["workflows"]
    return found


def ids(twins: TestClient, query: str = "") -> list[str]:
    return [one["workflow_id"] for one in listed(twins, query)]


def test_an_empty_list_says_how_to_begin(browser: TestClient) -> None:
    page = browser.get("/workflows")
    assert page.status_code == 200
    assert "There is no workflow yet" in page.text
    assert "calve push FILE" in page.text


def test_a_row_tells_runs_next_start_owner_and_tags(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_yaml(database, DESCRIBED)
    finish(database, "sales.orders", "SUCCEEDED")
    finish(database, "sales.orders", "FAILED", seconds=9)
    page = browser.get("/workflows").text
    for fact in ("Order facts", "/workflows?owner=dora", "/workflows?tag=gold", "0 3 * * * Europe/Berlin"):
        assert fact in page
    assert "last 2 runs: 1 succeeded, 1 failed" in page
    (row,) = listed(twins)
    assert row["latest_run"]["status"] == "FAILED"
    assert row["latest_run"]["href"] == "/workflows/sales.orders/instances/2"
    assert [bar["title"] for bar in row["recent"]["bars"]] == ["1: succeeded, 5.0 s", "2: failed, 9.0 s"]
    assert [bar["is_bad"] for bar in row["recent"]["bars"]] == [False, True]
    assert row["next_time"] is not None


def test_a_sparkline_has_the_newest_instances_only(twins: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a", run_strategy="parallel")
    for _ in range(23):
        start(database, "wf")
    (row,) = listed(twins)
    assert [bar["instance_id"] for bar in row["recent"]["bars"]] == list(range(4, 24))


@pytest.mark.parametrize(
    "query", ["search=FACTS", "owner=Dora", "tag=gold", "search=order&tag=daily&owner=dora"]
)
def test_filters_look_at_what_is_said(twins: TestClient, database: Database, query: str) -> None:
    push_yaml(database, DESCRIBED)
    push_jobs(database, "other", "a")
    assert ids(twins, f"?{query}") == ["sales.orders"]
    assert ids(twins, f"?{query}x") == []


def test_a_filter_sees_what_a_new_version_says(twins: TestClient, database: Database) -> None:
    push_yaml(database, DESCRIBED)
    assert ids(twins, "?tag=silver") == []
    push_yaml(database, DESCRIBED.replace("gold", "silver"))
    assert ids(twins, "?tag=silver") == ["sales.orders"]
    assert ids(twins, "?tag=gold") == []


def test_a_state_is_that_of_the_latest_run_or_of_the_workflow(twins: TestClient, database: Database) -> None:
    for name in ("bad", "good", "never", "resting", "waiting"):
        push_jobs(database, name, "a")
    finish(database, "bad", "SUCCEEDED")
    finish(database, "bad", "TIMED_OUT")
    finish(database, "good", "FAILED")
    set_run(database, finish(database, "good", "SUCCEEDED"), blocking=True)
    start(database, "waiting")
    with database.write() as connection:
        resting = workflows.c.workflow_id == "resting"
        connection.execute(update(workflows).where(resting).values(paused=True, active_version=None))
    found = {
        state: ids(twins, f"?state={state}")
        for state in (
            "failed",
            "succeeded",
            "queued",
            "running",
            "blocked",
            "paused",
            "inactive",
            "never ran",
        )
    }
    assert found == {
        "failed": ["bad"],
        "succeeded": ["good"],
        "queued": ["waiting"],
        "running": [],
        "blocked": ["good"],
        "paused": ["resting"],
        "inactive": ["resting"],
        "never ran": ["never", "resting"],
    }


def test_an_unknown_state_is_refused_with_those_there_are(browser: TestClient) -> None:
    page = browser.get("/workflows?state=tired")
    assert page.status_code == 400
    assert "use one of failed, running" in page.text


def test_workflows_of_backfills_are_shown_only_if_asked_for(twins: TestClient, database: Database) -> None:
    push_jobs(database, "backfill-1-of", "a")
    push_jobs(database, "mine", "a")
    assert ids(twins) == ["mine"]
    assert ids(twins, "?backfills=true") == ["backfill-1-of", "mine"]


def test_pages_follow_each_other_and_keep_the_filter(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    for number in range(60):
        push_jobs(database, f"wf{number:03}", "a", owner="dora")
    first = twins.get("/workflows?owner=dora").json()
    assert len(first["workflows"]) == 50
    assert first["next"] == "/workflows?owner=dora&cursor=wf049"
    assert f'href="{first["next"]}"'.replace("&", "&amp;") in browser.get("/workflows?owner=dora").text
    second = twins.get(first["next"]).json()
    assert [one["workflow_id"] for one in second["workflows"]] == [f"wf{n:03}" for n in range(50, 60)]
    assert second["next"] is None
    assert second["first"] == "/workflows?owner=dora"


def test_lag_is_what_waited_when_the_trigger_last_looked(twins: TestClient, database: Database) -> None:
    push_yaml(database, TRIGGERED)
    assert listed(twins)[0]["lag"] is None
    with database.write() as connection:
        connection.execute(update(incremental_triggers).values(decision=HELD))
    assert listed(twins)[0]["lag"] == "3 snapshots, 1,200 rows"


def test_names_are_escaped(browser: TestClient, database: Database) -> None:
    push_yaml(database, DESCRIBED.replace("dora", "'<script>x</script>'").replace("Order facts", "'<b>'"))
    page = browser.get("/workflows").text
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert "&lt;b&gt;" in page
