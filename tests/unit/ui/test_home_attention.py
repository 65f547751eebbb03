from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from calve.backfill.statuses import BackfillStatus, Phase
from calve.state.clock import now_ms, to_iso
from calve.state.database import Database
from calve.state.orchestration import time_triggers, workflows
from calve.ui.formats import duration
from calve.ui.views.home import failures
from calve.ui.views.tables.freshness import fresh_workflows
from calve.ui.views.tables.lateness import GRACE_MS
from support.backfill_states import branch_state, enter, keep_plan, set_status
from support.engine_rows import NOW, add_step, push_jobs, push_yaml, start
from support.home_rows import run, trigger

pytestmark = pytest.mark.slow

HOUR = 3_600_000


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
