from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from calve.engine.orchestrator import Orchestrator
from calve.engine.signals.watermarks import publish
from calve.settings import load_settings
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.steps.incremental.shared import close_ledgers
from calve.ui.views.home import day as home_day
from calve.ui.views.home.page import home as home_view
from calve.ui.views.lineage import reading
from calve.ui.views.lineage.reading import read_all
from support.engine_rows import add_run, add_step, push_jobs, push_yaml, set_run, start
from support.home_rows import run, trigger, written

pytestmark = pytest.mark.slow

HOUR = 3_600_000


def test_runs_under_way_have_their_progress(
    database: Database, browser: TestClient, twins: TestClient
) -> None:
    push_jobs(database, "w", "first", "second", "third")
    key = run(database, "w", "IN_PROGRESS")
    add_step(database, key, "first", "USER_FAILED")
    add_step(database, key, "first", "SUCCEEDED", attempt_id=2)
    add_step(database, key, "second", "RUNNING")
    start(database, "w")
    found = twins.get("/home").json()["now"]
    assert (found["running"], found["queued"]) == (1, 1)
    (one,) = found["runs"]
    assert (one["steps_done"], one["steps_total"]) == (1, 3)
    assert one["current"] == [{"step_id": "second", "status": "RUNNING"}]
    assert "/workflows/w/instances/1/steps/second" in browser.get("/").text


def test_tables_are_listed_with_their_newest_write_the_stalest_first(
    database: Database, browser: TestClient, twins: TestClient
) -> None:
    push_jobs(database, "w", "a")
    run(database, "w", "FAILED")
    now = now_ms()
    written(database, "lake.db.fresh", now - HOUR, "w/1/capture")
    written(database, "lake.db.fresh", now - 9 * HOUR, "w/2/capture")
    written(database, "lake.db.stale", now - 2 * HOUR, None)
    with database.write() as connection:
        for moment in (now - 3 * HOUR, now - HOUR, now - 2 * HOUR):
            publish(connection, "lake.db.fresh", moment, now)
    stale, fresh = twins.get("/home").json()["freshness"]["tables"]
    assert (stale["table"], stale["workflow_id"], stale["valid_through"]) == ("lake.db.stale", None, None)
    assert stale["freshness"] is None
    assert fresh == {
        "table": "lake.db.fresh",
        "written_at": now - HOUR,
        "workflow_id": "w",
        "instance_id": 1,
        "is_backfill": False,
        "freshness": {"status": "LATE", "why": "instance 1 failed"},
        "valid_through": now - HOUR,
    }
    assert "/tables/lake.db.stale" in browser.get("/").text


def test_a_table_is_as_fresh_here_as_on_its_own_page(
    orchestrator: Orchestrator, database: Database, twins: TestClient
) -> None:
    now = now_ms()
    for name in ("one", "other"):
        script = "INSERT INTO db.end SELECT * FROM db.t"
        push_yaml(
            database, f"Workflow: {{id: {name}, jobs: [{{job: {{id: a, type: Spark, script: {script}}}}}]}}"
        )
        run(database, name, "SUCCEEDED" if name == "one" else "FAILED")
    push_jobs(database, "backfill-1-one", "a")
    run(database, "backfill-1-one", "TIMED_OUT")
    read_all(orchestrator)
    seen = []
    for workflow in ("one", "backfill-1-one"):
        written(database, "lake.db.end", now := now + 1, f"{workflow}/1/capture")
        (here,) = twins.get("/home").json()["freshness"]["tables"]
        (there,) = (x for x in twins.get("/tables").json()["tables"] if x["name"] == "lake.db.end")
        itself = twins.get("/tables/lake.db.end").json()
        assert here["freshness"] == there["freshness"] == itself["freshness"]
        seen.append((here["workflow_id"], here["freshness"]["why"]))
    assert seen == [("one", "instance 1 failed"), ("backfill-1-one", "instance 1 failed")]
    close_ledgers()


def test_no_definition_is_read_while_the_page_waits(
    database: Database, twins: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_yaml(
        database,
        "Workflow: {id: w, jobs: [{job: {id: a, type: Spark, script: INSERT INTO db.t SELECT 1 AS x}}]}",
    )
    push_jobs(database, "wrote", "a")
    run(database, "w", "FAILED")
    run(database, "wrote", "SUCCEEDED")
    written(database, "lake.db.t", now_ms(), "wrote/1/capture")
    begun: list[Orchestrator] = []
    monkeypatch.setattr(reading, "_begin", begun.append)
    (table,) = twins.get("/home").json()["freshness"]["tables"]
    assert table["freshness"] == {"status": "FRESH", "why": "instance 1 succeeded"}
    (orchestrator,) = begun
    read_all(orchestrator)
    (table,) = twins.get("/home").json()["freshness"]["tables"]
    assert table["freshness"] == {"status": "LATE", "why": "instance 1 failed"}
    assert len(begun) == 1


def test_the_last_day_is_drawn_with_links_to_runs(database: Database, browser: TestClient) -> None:
    push_jobs(database, "w", "a")
    run(database, "w", "FAILED")
    old = run(database, "w", "SUCCEEDED")
    set_run(database, old, created_at=now_ms() - 30 * HOUR, ended_at=now_ms() - 29 * HOUR)
    page = browser.get("/").text
    assert 'href="/workflows/w/instances/1/runs/1"' in page
    assert "/workflows/w/instances/2/runs/1" not in page


@pytest.mark.parametrize("most", [1_000, 1])
def test_a_run_that_goes_on_since_more_than_a_day_is_drawn(
    database: Database, twins: TestClient, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    push_jobs(database, "long", "a")
    push_jobs(database, "short", "a")
    before = {"created_at": now_ms() - 30 * HOUR, "started_at": now_ms() - 30 * HOUR}
    run(database, "long", "IN_PROGRESS", **before)
    run(database, "short", "SUCCEEDED")
    monkeypatch.setattr(home_day, "_MOST_RUNS", most)
    day = twins.get("/home").json()["day"]
    bars = {row["id"]: [bar["status"] for bar in row["bars"]] for row in day["picture"]["rows"]}
    assert bars == {"short": ["SUCCEEDED"], "long": ["IN_PROGRESS"]}
    assert day["runs"] == 2


def test_a_busy_day_is_drawn_from_the_runs_of_the_busiest_workflows(
    database: Database, twins: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_jobs(database, "early", "a")
    first = run(database, "early", "SUCCEEDED")
    set_run(database, first, started_at=now_ms() - 20 * HOUR, ended_at=now_ms() - 19 * HOUR)
    for instance in range(2, 6):
        add_run(database, first, instance_id=instance, uuid=str(instance))
    monkeypatch.setattr(home_day, "_MOST_RUNS", 3)
    day = twins.get("/home").json()["day"]
    assert not day["complete"]
    assert sum(bar["count"] for row in day["picture"]["rows"] for bar in row["bars"]) == 5


def test_names_and_texts_of_users_are_escaped(database: Database, browser: TestClient) -> None:
    push_jobs(database, "w", "a")
    written(database, "lake.db.<script>alert(1)</script>", now_ms(), "w/1/capture")
    page = browser.get("/").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_no_query_reads_all_of_a_table_that_grows_with_history(
    database: Database, browser: TestClient
) -> None:
    push_jobs(database, "w", "a")
    run(database, "w", "IN_PROGRESS")
    run(database, "w", "FAILED")
    written(database, "lake.db.t", now_ms(), "w/1/capture")
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    event.listen(database._engine, "before_cursor_execute", note)
    assert browser.get("/").status_code == 200
    event.remove(database._engine, "before_cursor_execute", note)
    selects = [(text, given) for text, given in asked if text.lstrip().startswith(("SELECT", "WITH"))]
    assert len(selects) > 10
    with database.read() as connection:
        for text, given in selects:
            for line in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", given):
                whole = re.match(
                    r"SCAN (runs|steps|captures|capture_writes|signals|signal_params|events)\b(.*)", line[3]
                )
                assert whole is None or "INDEX ix_" in whole[2], (line[3], text)


@pytest.mark.slow
def test_the_page_is_made_from_postgresql_as_well(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(postgres_url)
    push_jobs(database, "w", "a")
    run(database, "w", "IN_PROGRESS")
    run(database, "w", "FAILED")
    trigger(database, "late", "error", looked_at=now_ms())
    written(database, "lake.db.t", now_ms() - HOUR, "w/1/capture")
    written(database, "lake.db.u", now_ms(), "w/1/capture")
    with database.write() as connection:
        publish(connection, "lake.db.t", 5, now_ms())
    # So that the runs of each workflow are asked for by themselves.
    monkeypatch.setattr(home_day, "_MOST_RUNS", 1)
    settings = load_settings(home).model_copy(update={"state_url": postgres_url})
    found = home_view(Orchestrator(settings, database))
    assert {line["what"] for line in found["attention"]} == {"No engine is alive", "w", "late"}
    assert [x["valid_through"] for x in found["freshness"]["tables"]] == [5, None]
    assert [x["instance_id"] for x in found["now"]["runs"]] == [1]
    assert len(found["day"]["picture"]["rows"]) == 1
    database.close()
