"""Pages say that a trigger fired and its start was refused, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from calve.cli.main import run
from calve.engine.model.requests import StartRequest
from calve.engine.orchestrator import Orchestrator
from calve.engine.signals.sending import send
from calve.engine.triggers.signal_triggers import match_signal
from calve.engine.triggers.starting import Start, try_start
from calve.engine.triggers.time_triggers import fire_due
from calve.errors import UsageError
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import incremental_triggers, signals, time_triggers
from support.engine_db import Starter
from support.engine_rows import NOW, push_yaml

pytestmark = pytest.mark.slow

DAY = 86_400_000
JOBS = "Workflow: {id: wf, jobs: [{job: {id: a, type: NoOp}}]}\n"


def refuse(_request: StartRequest) -> Any:
    raise UsageError("PARAM_MISSING", "the param <day> is missing", "give it")


def refuse_table_start(database: Database, what: str) -> None:
    """What an engine leaves when it fires a trigger on tables in vain, and what its later look led to."""
    with database.write() as connection:
        (uuid,) = connection.execute(select(incremental_triggers.c.trigger_uuid)).one()
        initiator = {"type": "INCREMENTAL", "trigger_uuid": uuid, "tables": {}}
        try_start(connection, StartRequest(workflow_id="wf", initiator=initiator), refuse, NOW)
        decision = json.dumps({"what": what, "why": "3 snapshots wait", "tables": []}, separators=(",", ":"))
        connection.execute(
            update(incremental_triggers).values(started_at=NOW, looked_at=NOW, decision=decision)
        )


@pytest.mark.parametrize("what", ["start", "nothing", "held"])
def test_a_trigger_on_tables_does_not_claim_a_run_that_there_is_not(
    browser: TestClient, database: Database, what: str
) -> None:
    push_yaml(database, "Trigger: {incremental: db.t}\n" + JOBS)
    refuse_table_start(database, what)
    page = browser.get("/workflows/wf?tab=triggers").text
    assert "The start was refused: the param &lt;day&gt; is missing." in page
    assert "It started a run" not in page
    assert "Starts that were refused" in page
    assert "give it" in page


@pytest.mark.usefixtures("alive")
def test_home_tells_of_a_refused_start_with_its_reason(database: Database, twins: TestClient) -> None:
    push_yaml(database, "Trigger: {incremental: db.t}\n" + JOBS)
    refuse_table_start(database, "nothing")
    (line,) = twins.get("/home").json()["attention"]
    assert (line["status"], line["what"], line["since"]) == ("FAILED", "wf", NOW)
    assert line["why"] == "The start was refused: the param <day> is missing."
    assert line["href"] == "/workflows/wf?tab=triggers"


def fire(database: Database, now: int, start: Start = refuse) -> None:
    """Have a schedule that is due once a day fire at a moment, and be due tomorrow."""
    with database.write() as connection:
        connection.execute(update(time_triggers).values(watermark_at=now - DAY, next_at=now))
        fire_due(connection, now, start)
        connection.execute(update(time_triggers).values(next_at=now_ms() + DAY))


@pytest.mark.usefixtures("alive")
def test_home_tells_of_a_refused_start_of_a_schedule_until_it_starts_something(
    database: Database, twins: TestClient
) -> None:
    push_yaml(database, "Trigger: {cron: '@daily'}\n" + JOBS)
    before = now_ms() - 3_600_000
    fire(database, before)
    (line,) = twins.get("/home").json()["attention"]
    assert (line["status"], line["what"], line["since"]) == ("FAILED", "wf", before)
    assert line["why"] == "The start was refused: the param <day> is missing."
    assert line["command"] == "calve triggers wf"
    fire(database, before + DAY, Starter())
    assert twins.get("/home").json()["attention"] == []


@pytest.mark.usefixtures("alive")
def test_home_forgets_refused_starts_of_triggers_that_are_gone_and_of_long_ago(
    database: Database, twins: TestClient
) -> None:
    push_yaml(database, "Trigger: {cron: '@daily'}\n" + JOBS)
    fire(database, now_ms() - DAY - 1)
    assert twins.get("/home").json()["attention"] == []
    fire(database, now_ms() - 1_000)
    assert len(twins.get("/home").json()["attention"]) == 1
    push_yaml(database, JOBS)
    assert twins.get("/home").json()["attention"] == []


@pytest.mark.usefixtures("alive")
def test_home_does_not_tell_of_signals_that_a_condition_did_not_want(
    database: Database, twins: TestClient
) -> None:
    push_yaml(database, "Trigger: {signal: {definitions: {a: {}}, condition: day > 1}}\n" + JOBS)
    for day in (1, 2):
        with database.write() as connection:
            send(connection, "a", {"day": day}, {}, None, None, now_ms())
            newest = select(signals.c.id).order_by(signals.c.id.desc()).limit(1)
            match_signal(connection, connection.execute(newest).scalar_one(), now_ms(), refuse)
        assert len(twins.get("/home").json()["attention"]) == day - 1


def test_a_schedule_and_signals_say_that_their_last_start_was_refused(
    browser: TestClient, database: Database
) -> None:
    triggers = "Trigger: [{cron: '@daily'}, {signal: {definitions: {a: {}}, condition: day > 1}}]\n"
    push_yaml(database, triggers + JOBS)
    with database.write() as connection:
        connection.execute(update(time_triggers).values(next_at=NOW))
        fire_due(connection, NOW + 86_400_000, refuse)
        send(connection, "a", {"day": 1}, {}, None, None, NOW)
        key = connection.execute(select(signals.c.id)).scalar_one()
        match_signal(connection, key, NOW, refuse)
    page = browser.get("/workflows/wf?tab=triggers").text
    assert "The start was refused: the param &lt;day&gt; is missing. It starts when its time comes." in page
    assert "The start was refused: its condition was false. It waits for a." in page


def test_history_tells_it_in_words_and_shows_no_document(browser: TestClient, database: Database) -> None:
    push_yaml(database, "Trigger: {incremental: db.t}\n" + JOBS)
    refuse_table_start(database, "nothing")
    page = browser.get("/workflows/wf?tab=history").text
    assert "a trigger fired, and its start was refused: the param &lt;day&gt; is missing" in page
    assert "trigger_uuid" not in page


def test_the_command_line_tells_it_too(
    orchestrator: Orchestrator,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    push_yaml(database, "Trigger: {incremental: db.t}\n" + JOBS)
    refuse_table_start(database, "nothing")
    monkeypatch.setenv("CALVE_HOME", str(orchestrator.settings.home))
    assert run(["triggers", "wf"]) == 0
    assert ": the param <day> is missing" in " ".join(capsys.readouterr().out.split())
