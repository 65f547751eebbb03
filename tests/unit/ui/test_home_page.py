from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, insert, update

from calve.backfill.statuses import BackfillStatus, Phase
from calve.engine.core.lease import take_lease
from calve.engine.orchestrator import Orchestrator
from calve.engine.signals.watermarks import publish
from calve.ledger.targets import settle_target
from calve.settings import load_settings
from calve.state.clock import now_ms, to_iso
from calve.state.database import Database
from calve.state.orchestration import incremental_triggers, time_triggers, workflows
from calve.state.schema import capture_writes, captures
from calve.steps.incremental.shared import close_ledgers
from calve.ui.formats import duration
from calve.ui.views.home import day as home_day
from calve.ui.views.home import failures
from calve.ui.views.home.page import home as home_view
from calve.ui.views.lineage import reading
from calve.ui.views.lineage.reading import read_all
from calve.ui.views.tables.freshness import fresh_workflows
from calve.ui.views.tables.lateness import GRACE_MS
from support.backfill_states import branch_state, enter, keep_plan, set_status
from support.engine_rows import NOW, add_run, add_step, push_jobs, push_yaml, set_run, start

pytestmark = pytest.mark.slow

HOUR = 3_600_000


@pytest.fixture
def alive(database: Database) -> None:
    """An engine that has just shown that it lives."""
    with database.write() as connection:
        take_lease(connection, now_ms())


def test_a_new_home_says_how_to_begin(browser: TestClient) -> None:
    page = browser.get("/")
    assert page.status_code == 200
    for command in ("calve push", "calve run", "calve demo", "calve worker"):
        assert command in page.text
    assert "The last 24 hours" not in page.text


@pytest.mark.usefixtures("alive")
def test_all_is_well_where_nothing_is_wrong(
    database: Database, browser: TestClient, twins: TestClient
) -> None:
    push_jobs(database, "w", "a")
    run(database, "w", "SUCCEEDED")
    assert "all is well" in browser.get("/").text
    assert twins.get("/home").json()["attention"] == []


def test_no_engine_is_told_with_the_command_that_starts_one(database: Database, twins: TestClient) -> None:
    push_jobs(database, "w", "a")
    (line,) = twins.get("/home").json()["attention"]
    assert (line["what"], line["command"]) == ("No engine is alive", "calve worker")
    assert (line["act"], line["href"]) == ("Engines", "/settings")


@pytest.mark.usefixtures("alive")
def test_a_workflow_whose_newest_instance_failed_is_told_with_its_reason(
    database: Database, browser: TestClient, twins: TestClient
) -> None:
    push_jobs(database, "bad", "a")
    run(database, "bad", "SUCCEEDED")
    key = run(database, "bad", "FAILED")
    add_step(database, key, "a", "FATALLY_FAILED", error=json.dumps({"message": "no such <table>"}))
    push_jobs(database, "mended", "a")
    run(database, "mended", "TIMED_OUT")
    run(database, "mended", "SUCCEEDED")
    (line,) = twins.get("/home").json()["attention"]
    assert (line["status"], line["what"], line["href"]) == ("FAILED", "bad", "/workflows/bad/instances/2")
    assert "Step 'a': no such <table>" in line["why"]
    assert "no such &lt;table&gt;" in browser.get("/").text


@pytest.mark.usefixtures("alive")
def test_many_failures_are_cut_short_with_the_way_to_all(database: Database, twins: TestClient) -> None:
    now = now_ms()
    for number in range(20):
        push_jobs(database, f"w{number}", "a")
        run(database, f"w{number}", "TIMED_OUT", ended_at=now - number)
    *lines, rest = twins.get("/home").json()["attention"]
    assert [line["what"] for line in lines] == [f"w{number}" for number in range(12)]
    assert rest["href"] == "/workflows?state=failed"


@pytest.mark.usefixtures("alive")
def test_an_old_failure_is_told_however_many_were_mended_since(
    database: Database, twins: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "_LOOK_BACK", 2)
    for name in ("bad", "mended"):
        push_jobs(database, name, "a")
    run(database, "bad", "FAILED", ended_at=now_ms() - 1000 * HOUR)
    for status in ("FAILED", "TIMED_OUT", "FAILED", "SUCCEEDED"):
        run(database, "mended", status)
    assert [line["what"] for line in twins.get("/home").json()["attention"]] == ["bad"]


@pytest.mark.usefixtures("alive")
def test_what_blocks_a_sequence_is_told_once_with_what_lets_it_go_on(
    database: Database, twins: TestClient
) -> None:
    push_jobs(database, "strict", "a")
    run(database, "strict", "FAILED", blocking=True)
    (line,) = twins.get("/home").json()["attention"]
    assert (line["status"], line["command"]) == ("BLOCKED", "calve unblock strict")


@pytest.mark.usefixtures("alive")
def test_what_is_paused_is_told_if_something_waits_for_it(database: Database, twins: TestClient) -> None:
    for name in ("idle", "queue", "held"):
        push_jobs(database, name, "a")
    start(database, "queue")
    key = run(database, "held", "IN_PROGRESS")
    add_step(database, key, "a", "PAUSED")
    with database.write() as connection:
        names = ["idle", "queue"]
        connection.execute(update(workflows).where(workflows.c.workflow_id.in_(names)).values(paused=True))
    held, queued = twins.get("/home").json()["attention"]
    assert (held["what"], queued["what"]) == ("held", "queue")
    assert "breakpoint" in held["why"]
    assert (held["since"], held["href"]) == (NOW, "/workflows/held/instances/1/steps/a")
    assert queued["command"] == "calve resume queue"


@pytest.mark.usefixtures("alive")
def test_changes_that_wait_for_too_long_are_told(database: Database, twins: TestClient) -> None:
    now = now_ms()
    trigger(database, "unreadable", "error", looked_at=now)
    trigger(database, "overdue", "waiting", waiting_since=now - HOUR, next_look=to_iso(now - HOUR))
    trigger(database, "waits", "waiting", waiting_since=now - HOUR, next_look=to_iso(now + HOUR))
    trigger(database, "forgotten", "waiting", waiting_since=now - 30 * HOUR)
    trigger(database, "stuck", "held", looked_at=now)
    lines = {line["what"]: line["status"] for line in twins.get("/home").json()["attention"]}
    assert lines == {"unreadable": "FAILED", "overdue": "LATE", "forgotten": "LATE", "stuck": "BLOCKED"}


@pytest.mark.usefixtures("alive")
def test_changes_are_late_on_this_page_when_they_are_on_the_others(
    database: Database, twins: TestClient
) -> None:
    now = now_ms()
    soon = now - GRACE_MS + 60_000
    trigger(database, "soon", "waiting", waiting_since=now - 9 * HOUR, next_look=to_iso(soon))
    trigger(database, "late", "waiting", waiting_since=now - 9 * HOUR, next_look=to_iso(soon - 60_000))
    (line,) = twins.get("/home").json()["attention"]
    assert (line["what"], line["why"]) == ("late", "Changes wait for 9 h: because.")
    assert line["href"] == "/workflows/late?tab=triggers"
    with database.read() as connection:
        fresh = fresh_workflows(connection, ["soon", "late"], now_ms())
    assert (fresh["soon"].status, fresh["late"].status) == ("STALE", "LATE")


@pytest.mark.usefixtures("alive")
def test_a_schedule_that_is_overdue_is_told_once(database: Database, twins: TestClient) -> None:
    now = now_ms()
    for name, late in (("kept", GRACE_MS - 60_000), ("overdue", 2 * HOUR)):
        push_yaml(
            database,
            f"Trigger: [{{cron: '@daily'}}, {{cron: '@hourly'}}]\n"
            f"Workflow: {{id: {name}, jobs: [{{job: {{id: a, type: NoOp}}}}]}}\n",
        )
        with database.write() as connection:
            this = time_triggers.c.workflow_id == name
            connection.execute(update(time_triggers).where(this).values(next_at=now - late))
    (line,) = twins.get("/home").json()["attention"]
    assert (line["status"], line["what"], line["since"]) == ("LATE", "overdue", now - 2 * HOUR)
    assert line["why"] == "Its schedule was due 2 h ago, and has started nothing since."
    assert line["href"] == "/workflows/overdue?tab=triggers"


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize("kind", ["blocked", "late", "schedules", "paused", "steps", "backfills"])
def test_whatever_is_cut_short_says_that_there_is_more(
    database: Database, twins: TestClient, kind: str
) -> None:
    for number in range(13):
        MAKERS[kind](database, f"w{number}")
    *lines, rest = twins.get("/home").json()["attention"]
    assert len(lines) == 12
    assert rest["what"].startswith("More ")
    assert rest["since"] is None


@pytest.mark.usefixtures("alive")
def test_a_lag_that_grows_is_told_with_its_waits(database: Database, twins: TestClient) -> None:
    trigger(database, "slow", "nothing", waits="[60000,120000,600000]", falls_behind=True)
    trigger(database, "well", "nothing", waits="[600000,1,1]")
    (told,) = twins.get("/home").json()["attention"]
    assert (told["what"], told["status"]) == ("slow", "LATE")
    assert "lag grows" in told["why"]
    assert ", ".join(duration(minutes * 60_000) for minutes in (1, 2, 10)) in told["why"]


@pytest.mark.usefixtures("alive")
def test_backfills_that_need_somebody_are_told(database: Database, twins: TestClient) -> None:
    keep_plan(database)
    failed = set_status(database, keep_plan(database), BackfillStatus.RUNNING, BackfillStatus.FAILED)
    waits = set_status(database, keep_plan(database), BackfillStatus.RUNNING)
    enter(database, waits, 0, Phase.WAITING, **branch_state())
    lines = twins.get("/home").json()["attention"]
    assert [(line["status"], line["href"]) for line in lines] == [
        ("WAITING", f"/backfills/{waits.id}"),
        ("FAILED", f"/backfills/{failed.id}"),
    ]


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


def run(database: Database, workflow_id: str, status: str, **columns: object) -> int:
    """An instance with a status, as of now; the key of its run."""
    key = start(database, workflow_id).run
    ended = None if status in ("CREATED", "IN_PROGRESS") else now_ms()
    times = {"created_at": now_ms() - 1000, "started_at": now_ms() - 900, "ended_at": ended}
    set_run(database, key, status=status, ready=False, **(times | columns))
    return key


def trigger(database: Database, workflow_id: str, what: str, **columns: object) -> None:
    """A workflow with a trigger on tables that came to a decision."""
    push_jobs(database, workflow_id, "a")
    decision = {"what": what, "why": "because", "next_look": columns.pop("next_look", None), "tables": []}
    text = json.dumps(decision, separators=(",", ":"))
    with database.write() as connection:
        connection.execute(
            insert(incremental_triggers).values(
                workflow_id=workflow_id, trigger_uuid="t", definition="{}", active=True, seen="{}",
                decision=text, **columns,
            )
        )  # fmt: skip
        connection.execute(update(workflows).values(active_version=1))


def written(database: Database, target: str, at: int, run_ref: str | None) -> None:
    """A write under a capture that has landed."""
    capture = f"{target}-{at}"
    with database.write() as connection:
        connection.execute(
            insert(captures).values(
                id=capture, consumer="c", status="committed", request="{}", owner="o", run_ref=run_ref,
                keep=False, created_at=at,
            )
        )  # fmt: skip
        connection.execute(
            insert(capture_writes).values(
                capture_id=capture, statement="s/1", target=target, text_hash="h", begun_at=at,
                snapshot_id=1, landed_at=at,
            )
        )  # fmt: skip
        settle_target(connection, target)


def _block(database: Database, name: str) -> None:
    push_jobs(database, name, "a")
    run(database, name, "FAILED", blocking=True, latest=False)


def _overdue(database: Database, name: str) -> None:
    push_yaml(
        database,
        f"Trigger: {{cron: '@daily'}}\nWorkflow: {{id: {name}, jobs: [{{job: {{id: a, type: NoOp}}}}]}}\n",
    )
    with database.write() as connection:
        connection.execute(update(time_triggers).values(next_at=NOW))


def _pause(database: Database, name: str) -> None:
    push_jobs(database, name, "a")
    start(database, name)
    with database.write() as connection:
        connection.execute(update(workflows).values(paused=True))


def _hold(database: Database, name: str) -> None:
    push_jobs(database, name, "a")
    add_step(database, run(database, name, "IN_PROGRESS"), "a", "PAUSED")


def _fail_backfill(database: Database, _name: str) -> None:
    set_status(database, keep_plan(database), BackfillStatus.RUNNING, BackfillStatus.FAILED)


MAKERS: dict[str, Callable[[Database, str], None]] = {
    "blocked": _block,
    "late": lambda database, name: trigger(database, name, "held", looked_at=NOW),
    "schedules": _overdue,
    "paused": _pause,
    "steps": _hold,
    "backfills": _fail_backfill,
}
