"""How fresh workflows are, from the state alone."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import insert

from calve.state.database import Database
from calve.state.orchestration import incremental_triggers, time_triggers
from calve.ui.views.tables.freshness import Freshness, fresh_workflows, worst
from calve.ui.views.tables.lateness import GRACE_MS
from support.engine_rows import NOW, push_jobs, set_run, start

MINUTE = 60_000


@pytest.fixture
def _succeeded(database: Database) -> None:
    push_jobs(database, "w", "a")
    set_run(database, start(database, "w").run, status="SUCCEEDED")


def fresh(database: Database, now: int = NOW) -> Freshness:
    with database.read() as connection:
        return fresh_workflows(connection, ["w", "gone"], now)["w"]


def decide(
    database: Database, what: str, why: str, waiting_since: int | None = None, **trigger: object
) -> None:
    row = {
        "workflow_id": "w",
        "trigger_uuid": "t",
        "definition": json.dumps(trigger),
        "active": True,
        "seen": "{}",
        "waiting_since": waiting_since,
        "decision": json.dumps({"what": what, "why": why}),
    }
    with database.write() as connection:
        connection.execute(insert(incremental_triggers).values(row))


@pytest.mark.usefixtures("_succeeded")
@pytest.mark.parametrize(
    ("what", "status"),
    [("nothing", "FRESH"), ("running", "FRESH"), ("waiting", "STALE"), ("held", "LATE"), ("error", "LATE")],
)
def test_a_trigger_on_tables_tells_whether_something_waits(
    database: Database, what: str, status: str
) -> None:
    decide(database, what, "so it is", NOW - MINUTE)
    found = fresh(database)
    assert found.status == status
    assert found.why == ("instance 1 succeeded" if status == "FRESH" else "so it is")


@pytest.mark.usefixtures("_succeeded")
def test_changes_may_wait_for_as_long_as_the_trigger_says_and_a_while(database: Database) -> None:
    decide(database, "waiting", "it waits for more", NOW, max_delay="2h")
    assert fresh(database, NOW + 2 * 60 * MINUTE + GRACE_MS).status == "STALE"
    late = fresh(database, NOW + 2 * 60 * MINUTE + GRACE_MS + 1)
    assert (late.status, late.why) == ("LATE", "changes wait for 3 h")


@pytest.mark.usefixtures("_succeeded")
def test_a_trigger_that_waits_for_more_without_an_end_may_do_so_for_a_day(database: Database) -> None:
    decide(database, "waiting", "it waits for more", NOW, min_rows=100)
    assert fresh(database, NOW + 24 * 60 * MINUTE + GRACE_MS).status == "STALE"
    assert fresh(database, NOW + 24 * 60 * MINUTE + GRACE_MS + 1).status == "LATE"


@pytest.mark.usefixtures("_succeeded")
def test_a_trigger_in_words_that_are_not_known_allows_nothing_more(database: Database) -> None:
    decide(database, "waiting", "it waits for more", NOW, patience="much")
    assert fresh(database, NOW + GRACE_MS + 1).status == "LATE"


@pytest.mark.usefixtures("_succeeded")
def test_a_schedule_that_was_not_kept_is_late(database: Database) -> None:
    row = {
        "workflow_id": "w",
        "trigger_uuid": "t",
        "definition": "{}",
        "watermark_at": NOW,
        "next_at": NOW,
    }
    with database.write() as connection:
        connection.execute(insert(time_triggers).values(row))
    assert fresh(database, NOW + GRACE_MS).status == "FRESH"
    assert fresh(database, NOW + 2 * GRACE_MS).why == "its schedule was due 2 h ago"


def test_a_table_is_as_fresh_as_the_least_fresh_that_writes_it() -> None:
    told = [Freshness(status, status) for status in ("FRESH", "LATE", "NONE", "STALE")]
    assert worst(told).status == "LATE"
    assert worst([]).why == "no workflow writes it"
