"""Time triggers start what is due: nothing twice, nothing lost, whatever the clock does."""

from __future__ import annotations

import threading
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete

from calve.engine.catalog.properties import set_properties
from calve.engine.catalog.workflows import deactivate, pause
from calve.engine.triggers.time_triggers import fire_due, next_due
from calve.errors import UnreachableError, UsageError
from calve.state.database import Database
from calve.state.orchestration import time_triggers, workflows
from calve.workflow.definition.properties import Properties
from calve.workflow.params import ParamSource
from support.engine_db import AUTHOR, Starter, event_data, push_workflow, rows

pytestmark = pytest.mark.slow

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MIDNIGHT = int(datetime.fromisoformat("2024-05-15T00:00Z").timestamp() * 1000)
NOON = MIDNIGHT - DAY // 2
HOURLY = "Trigger: [{cron: '@hourly'}]"
DAILY = "Trigger: [{cron: '@daily'}]"


def test_a_trigger_fires_at_its_time_and_says_when_it_is_due_next(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=DAILY, now_ms=NOON)
    assert next_due(connection) == MIDNIGHT
    assert fire_due(connection, MIDNIGHT - 1, starter) == MIDNIGHT
    assert starter.times == []
    assert fire_due(connection, MIDNIGHT, starter) == MIDNIGHT + DAY
    assert fire_due(connection, MIDNIGHT, starter) == MIDNIGHT + DAY
    assert starter.times == [MIDNIGHT]


def test_the_start_names_the_trigger_and_has_the_time_as_run_ts(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top="Trigger: [{cron: '0 0 * * *', timezone: Europe/Berlin}]", now_ms=NOON)
    fire_due(connection, MIDNIGHT, starter)
    (request,) = starter.requests
    time = MIDNIGHT - 2 * HOUR
    assert request.initiator == {
        "type": "TIME",
        "trigger_uuid": rows(connection, time_triggers)[0]["trigger_uuid"],
        "timezone": "Europe/Berlin",
        "trigger_time": time,
    }
    assert request.params["RUN_TS"].value == time
    assert (request.workflow_id, request.version, request.source) == ("w", "active", ParamSource.TIME_TRIGGER)


def test_nothing_is_due_without_triggers(connection: Connection) -> None:
    push_workflow(connection)
    assert next_due(connection) is None
    assert fire_due(connection, MIDNIGHT, Starter()) is None


def test_all_that_was_missed_is_caught_up_in_order_a_bounded_piece_at_a_time(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
    now = MIDNIGHT + 25 * HOUR
    assert fire_due(connection, now, starter, limit=10) == MIDNIGHT + 11 * HOUR
    assert len(starter.times) == 10
    fire_due(connection, now, starter, limit=10)
    assert fire_due(connection, now, starter, limit=10) == now + HOUR
    assert starter.times == [MIDNIGHT + hour * HOUR for hour in range(1, 26)]


def test_a_long_backlog_of_one_trigger_leaves_room_for_the_others(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, "old", top="Trigger: [{cron: '* * * * *'}]", now_ms=MIDNIGHT - 30 * DAY)
    push_workflow(connection, "new", top=HOURLY, now_ms=MIDNIGHT)
    fire_due(connection, MIDNIGHT + HOUR, starter, limit=10)
    started = [request.workflow_id for request in starter.requests]
    assert (started.count("old"), started.count("new")) == (5, 1)


def test_a_clock_that_jumps_back_fires_nothing_again(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
    fire_due(connection, MIDNIGHT + 3 * HOUR, starter)
    for now in (MIDNIGHT, MIDNIGHT + HOUR, MIDNIGHT - 9 * DAY, MIDNIGHT + 3 * HOUR):
        assert fire_due(connection, now, starter) == MIDNIGHT + 4 * HOUR
    assert len(starter.times) == 3


def test_a_firing_has_the_same_request_id_whenever_it_is_asked_for(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=DAILY, now_ms=NOON)
    fire_due(connection, MIDNIGHT, starter)
    connection.execute(delete(time_triggers))
    push_workflow(connection, top=DAILY, now_ms=NOON)
    fire_due(connection, MIDNIGHT, starter)
    assert len(starter.requests) == 1, "the second one is a duplicate"


def test_a_delay_moves_the_start_and_not_the_time(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top="Trigger: [{cron: '@daily', fuzzy_max_delay: 10 min}]", now_ms=NOON)
    due = next_due(connection)
    assert due is not None
    assert MIDNIGHT < due <= MIDNIGHT + 10 * MINUTE
    fire_due(connection, due - 1, starter)
    assert starter.times == []
    assert fire_due(connection, due, starter) == due + DAY
    assert starter.times == [MIDNIGHT]


def test_an_unchanged_trigger_keeps_its_watermark_over_a_push_and_a_new_one_begins_now(
    connection: Connection,
) -> None:
    starter = Starter()
    push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
    later = MIDNIGHT + 3 * HOUR + MINUTE
    push_workflow(connection, top="Trigger: [{cron: '@hourly'}, {cron: '30 * * * *'}]", now_ms=later)
    fire_due(connection, later + HOUR, starter)
    hours = [MIDNIGHT + hour * HOUR for hour in (1, 2, 3, 4)]
    assert sorted(starter.times) == sorted([*hours, MIDNIGHT + 3 * HOUR + 30 * MINUTE])


def test_only_triggers_of_the_active_version_live(connection: Connection) -> None:
    push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
    push_workflow(connection, top="is_active: false\n" + DAILY, now_ms=MIDNIGHT)
    assert next_due(connection) == MIDNIGHT + HOUR
    push_workflow(connection, top=DAILY, now_ms=MIDNIGHT)
    assert next_due(connection) == MIDNIGHT + DAY
    assert len(rows(connection, time_triggers)) == 1
    deactivate(connection, "w", AUTHOR, MIDNIGHT)
    assert next_due(connection) is None
    assert rows(connection, time_triggers) == []


def test_disabled_triggers_rest_and_begin_anew_when_they_are_enabled(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
    set_properties(connection, "w", Properties(time_trigger_disabled=True), AUTHOR, MIDNIGHT)
    assert next_due(connection) is None
    assert fire_due(connection, MIDNIGHT + 5 * HOUR, starter) is None
    push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
    assert next_due(connection) is None
    enabled = MIDNIGHT + 5 * HOUR + MINUTE
    set_properties(connection, "w", Properties(time_trigger_disabled=False), AUTHOR, enabled)
    fire_due(connection, enabled + HOUR, starter)
    assert starter.times == [MIDNIGHT + 6 * HOUR]


def test_a_paused_workflow_is_started_so_that_nothing_is_lost(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
    pause(connection, "w", AUTHOR, MIDNIGHT)
    fire_due(connection, MIDNIGHT + 2 * HOUR, starter)
    assert len(starter.times) == 2


def test_a_workflow_that_cannot_be_started_is_noted_and_stops_no_other(connection: Connection) -> None:
    starter = Starter(refused={"broken": UsageError("PARAM_REQUIRED", "param 'x' is required", "set it")})
    push_workflow(connection, "broken", top=HOURLY, now_ms=MIDNIGHT)
    push_workflow(connection, "whole", top=HOURLY, now_ms=MIDNIGHT)
    fire_due(connection, MIDNIGHT + HOUR, starter)
    assert [request.workflow_id for request in starter.requests] == ["whole"]
    (noted,) = event_data(connection, "trigger", "broken")
    assert (noted["error"]["code"], noted["initiator"]["trigger_time"]) == ("PARAM_REQUIRED", MIDNIGHT + HOUR)
    assert next_due(connection) == MIDNIGHT + 2 * HOUR


def test_a_state_that_does_not_answer_is_no_fault_of_the_workflow(connection: Connection) -> None:
    starter = Starter(refused={"w": UnreachableError("STATE_UNREACHABLE", "gone", "start it")})
    push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
    with pytest.raises(UnreachableError):
        fire_due(connection, MIDNIGHT + HOUR, starter)
    assert next_due(connection) == MIDNIGHT + HOUR


def test_a_delay_that_only_a_param_could_give_is_refused_at_push(connection: Connection) -> None:
    with pytest.raises(UsageError) as refused:
        push_workflow(connection, top="Trigger: [{cron: '@daily', fuzzy_max_delay: '${slack}'}]")
    assert refused.value.code == "TRIGGER_INVALID"


def test_a_workflow_that_somebody_else_has_locked_stays_due(postgres_url: str) -> None:
    engine_db = Database(postgres_url)
    with engine_db.write() as connection:
        push_workflow(connection, "held", top=HOURLY, now_ms=MIDNIGHT)
        push_workflow(connection, "free", top=HOURLY, now_ms=MIDNIGHT)
    starter, now = Starter(), MIDNIGHT + HOUR
    with engine_db.write() as holder:
        holder.execute(workflows.update().where(workflows.c.workflow_id == "held").values(paused=False))
        with engine_db.write() as connection:
            assert fire_due(connection, now, starter) == now
    with engine_db.write() as connection:
        assert fire_due(connection, now, starter) == now + HOUR
    engine_db.close()
    assert [request.workflow_id for request in starter.requests] == ["free", "held"]


def test_engines_that_fire_at_once_fire_everything_once(engine_db: Database) -> None:
    with engine_db.write() as connection:
        for number in range(6):
            push_workflow(connection, f"w{number}", top=HOURLY, now_ms=MIDNIGHT)
    now, fired = MIDNIGHT + 5 * HOUR, list[tuple[str, int]]()

    def engine() -> None:
        starter, due = Starter(), 0
        while due <= now:
            with engine_db.write() as connection:
                found = fire_due(connection, now, starter, limit=4)
            assert found is not None
            due = found
        fired.extend((request.workflow_id, request.initiator["trigger_time"]) for request in starter.requests)

    threads = [threading.Thread(target=engine) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [(f"w{number}", MIDNIGHT + hour * HOUR) for number in range(6) for hour in range(1, 6)]
    assert sorted(fired) == expected


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(-5 * 60, 12 * 60), st.integers(1, 9)), min_size=1, max_size=12))
def test_whatever_the_clock_does_every_firing_up_to_its_highest_time_comes_once(
    engine_db: Database, jumps: list[tuple[int, int]]
) -> None:
    starter, now, highest = Starter(), MIDNIGHT, MIDNIGHT
    with engine_db.write() as connection:
        connection.execute(delete(time_triggers))
        push_workflow(connection, top=HOURLY, now_ms=MIDNIGHT)
        for minutes, limit in jumps:
            now += minutes * MINUTE
            highest = max(highest, now)
            fire_due(connection, now, starter, limit)
        while (due := fire_due(connection, highest, starter)) is not None and due <= highest:
            pass
    assert starter.times == [*range(MIDNIGHT + HOUR, highest + 1, HOUR)]
