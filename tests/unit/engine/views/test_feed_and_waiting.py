"""Events in order, and waiting for runs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import insert, update

from calve.engine.core.nudge import announce, nudge
from calve.engine.model.statuses import RunStatus
from calve.engine.views import feed, waiting
from calve.engine.views.feed import EventFilter, newest_event, read_events
from calve.errors import FailedError, NotFoundError
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import events, runs
from support.engine_rows import push_jobs, start


def note(database: Database, workflow_id: str, instance_id: int | None = None, **columns: Any) -> None:
    with database.write() as connection:
        connection.execute(
            insert(events).values(
                {"at": now_ms(), "kind": "run", "workflow_id": workflow_id, "data": "{}", **columns}
                | {"instance_id": instance_id}
            )
        )


def read(database: Database, after: int = 0, **wanted: Any) -> tuple[list[str], int]:
    with database.read() as connection:
        batch = read_events(connection, after, EventFilter(**wanted))
    return [event["workflow_id"] for event in batch.events], batch.last_id


def test_events_come_in_order_from_any_of_them_on(database: Database) -> None:
    for name in "abc":
        note(database, name)
    assert read(database) == (["a", "b", "c"], 3)
    assert read(database, 1) == (["b", "c"], 3)
    assert read(database, 3) == ([], 3)
    with database.read() as connection:
        assert newest_event(connection) == 3


def test_events_are_chosen_by_workflow_and_instance(database: Database) -> None:
    note(database, "a", 1)
    note(database, "b", 1)
    note(database, "a", 2)
    assert read(database, workflow_id="a") == (["a", "a"], 3)
    assert read(database, workflow_id="a", instance_id=2) == (["a"], 3)
    assert read(database, workflow_id="c") == ([], 3)


def test_a_full_batch_says_that_there_is_more(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "BATCH", 2)
    for name in "abc":
        note(database, name)
    with database.read() as connection:
        first = read_events(connection, 0, EventFilter())
        assert (len(first.events), first.is_full) == (2, True)
        assert read_events(connection, first.last_id, EventFilter()).is_full is False


def test_an_event_that_is_committed_late_is_not_left_out(database: Database) -> None:
    if database.is_sqlite:
        pytest.skip("one writer at a time: events are committed in the order of their numbers")
    note(database, "a", id=1)
    note(database, "c", id=3)
    assert read(database) == (["a"], 1)
    note(database, "b", id=2)
    assert read(database, 1) == (["b", "c"], 3)
    note(database, "e", id=5, at=now_ms() - 60_000)
    assert read(database, 3) == (["e"], 5)


def test_who_waits_is_woken_by_the_end_of_the_run(database: Database) -> None:
    push_jobs(database, "wf", "a")
    run = start(database, "wf").run

    def end() -> None:
        with database.write() as connection:
            connection.execute(update(runs).where(runs.c.id == run).values(status="SUCCEEDED"))
            announce(connection)
        nudge(database)

    thread = threading.Timer(0.05, end)
    thread.start()
    assert waiting.wait_for_run(database, run, timeout_s=30) is RunStatus.SUCCEEDED
    thread.join()
    seen = list(waiting.watch_run(database, "wf", 1))
    assert [summary["status"] for summary in seen] == ["SUCCEEDED"]


def test_waiting_ends_when_the_time_is_over(database: Database) -> None:
    push_jobs(database, "wf", "a")
    with pytest.raises(FailedError, match=r"the run is CREATED after 0\.01 s"):
        waiting.wait_for_run(database, start(database, "wf").run, timeout_s=0.01)
    with pytest.raises(NotFoundError):
        waiting.wait_for_run(database, 999)
