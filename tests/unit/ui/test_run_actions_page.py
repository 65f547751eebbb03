"""The buttons of runs and steps, and what they do."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from calve.state.database import Database
from calve.state.orchestration import commands, runs
from support.engine_rows import NOW, add_step, push_jobs, set_run, start

pytestmark = pytest.mark.slow

HERE = "/workflows/wf/instances/1"


@pytest.fixture
def run(database: Database) -> int:
    push_jobs(database, "wf", "a", "b", run_strategy="strict_sequential")
    return start(database, "wf").run


def end(database: Database, run: int, **columns: Any) -> None:
    set_run(database, run, status="FAILED", ready=True, started_at=NOW, ended_at=NOW + 5, **columns)


def labels(twins: TestClient, path: str = HERE) -> list[str]:
    return [button["label"] for button in twins.get(path).json()["buttons"]]


def asked(database: Database) -> list[tuple[str, str | None, str]]:
    with database.read() as connection:
        rows = connection.execute(select(commands.c.kind, commands.c.step_id, commands.c.author))
        return [tuple(row) for row in rows]


def statuses(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(select(runs.c.status).order_by(runs.c.id)).scalars())


def test_a_run_offers_only_what_its_status_allows(run: int, database: Database, twins: TestClient) -> None:
    assert labels(twins) == ["Stop", "Kill"]
    set_run(database, run, status="IN_PROGRESS", ready=True, started_at=NOW)
    assert labels(twins) == ["Stop", "Kill", "Pause"]
    set_run(database, run, paused=True)
    assert labels(twins) == ["Stop", "Kill", "Resume"]
    end(database, run, paused=False)
    assert labels(twins) == ["Restart incomplete", "Restart all"]
    set_run(database, run, blocking=True)
    assert labels(twins) == ["Restart incomplete", "Restart all", "Unblock"]
    set_run(database, run, status="SUCCEEDED", blocking=False)
    assert labels(twins) == ["Restart all"]
    set_run(database, run, parent_run=99)
    assert labels(twins) == []


def test_a_button_is_a_form_that_asks_first(run: int, browser: TestClient, database: Database) -> None:
    end(database, run)
    text = browser.get(HERE).text
    assert f'action="{HERE}/actions/restart?policy=RESTART_FROM_INCOMPLETE"' in text
    assert "Run the steps again that are not complete?" in text


def test_a_restart_queues_a_further_run_and_leads_to_it(
    run: int, browser: TestClient, database: Database
) -> None:
    end(database, run)
    answer = browser.post(f"{HERE}/actions/restart?policy=RESTART_FROM_BEGINNING")
    assert (answer.status_code, statuses(database)) == (303, ["FAILED", "CREATED"])
    page = browser.get(answer.headers["location"])
    assert "this is run 2" in page.text


def test_a_stop_ends_what_is_queued(run: int, browser: TestClient, database: Database) -> None:
    answer = browser.post(f"{HERE}/actions/stop")
    assert (answer.status_code, statuses(database)) == (303, ["STOPPED"])


def test_a_run_under_way_is_asked_in_the_name_of_the_caller(
    run: int, browser: TestClient, database: Database
) -> None:
    set_run(database, run, status="IN_PROGRESS", ready=True, started_at=NOW)
    add_step(database, run, "a", "WAITING_FOR_SIGNALS")
    browser.post(f"{HERE}/actions/pause")
    browser.post(f"{HERE}/steps/a/actions/bypass", headers={"user": "ada"})
    browser.post(f"{HERE}/steps/a/actions/kill")
    assert asked(database) == [
        ("PAUSE", None, "ui"),
        ("STEP_BYPASS", "a", "ada"),
        ("STEP_KILL", "a", "ui"),
    ]


def test_unblocking_lets_the_queue_go_on(run: int, browser: TestClient, database: Database) -> None:
    end(database, run, blocking=True)
    assert browser.post(f"{HERE}/actions/unblock").status_code == 303
    with database.read() as connection:
        assert not connection.execute(select(runs.c.blocking)).scalar()


def test_what_is_refused_or_unknown_is_a_page(run: int, browser: TestClient, database: Database) -> None:
    end(database, run)
    refused = browser.post(f"{HERE}/actions/stop")
    assert refused.status_code == 422
    assert "INSTANCE_OVER" in refused.text
    assert browser.post(f"{HERE}/actions/dance").status_code == 400
    assert browser.post("/workflows/gone/instances/1/actions/stop").status_code == 404


def test_a_step_offers_only_what_its_status_allows(run: int, database: Database, twins: TestClient) -> None:
    set_run(database, run, status="IN_PROGRESS", ready=True, started_at=NOW)
    step = f"{HERE}/steps/a"
    assert labels(twins, step) == []
    add_step(database, run, "a", "USER_FAILED")
    assert labels(twins, step) == ["Stop", "Kill", "Skip", "Restart"]
    add_step(database, run, "a", "PAUSED", attempt_id=2)
    assert labels(twins, step) == ["Stop", "Kill", "Skip", "Resume"]
    assert labels(twins, f"{step}?attempt=1") == []
    add_step(database, run, "a", "WAITING_FOR_SIGNALS", attempt_id=3)
    assert labels(twins, step) == ["Stop", "Kill", "Skip", "Do not wait"]
    add_step(database, run, "a", "FATALLY_FAILED", attempt_id=4)
    end(database, run)
    assert labels(twins, step) == ["Restart", "Skip"]


def test_a_step_of_a_run_that_is_over_is_restarted_by_a_further_run(
    run: int, browser: TestClient, database: Database
) -> None:
    add_step(database, run, "a", "FATALLY_FAILED")
    end(database, run)
    answer = browser.post(f"{HERE}/steps/a/actions/restart")
    assert (answer.status_code, statuses(database)) == (303, ["FAILED", "CREATED"])
    assert browser.get(answer.headers["location"]).status_code == 200
