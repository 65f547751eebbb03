"""Starts of triggers that were refused are told with the trigger, for as long as they are its last."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, update

from calve.engine.model.requests import StartRequest
from calve.engine.signals.sending import send
from calve.engine.triggers.signal_triggers import match_signal
from calve.engine.triggers.starting import try_start
from calve.engine.triggers.time_triggers import fire_due
from calve.engine.views.triggers import workflow_triggers
from calve.engine.views.workflows import workflow_timeline
from calve.errors import UsageError
from calve.state.orchestration import events, incremental_triggers, signals, time_triggers
from support.engine_db import NOW, Starter, push_workflow

pytestmark = pytest.mark.slow

DAY = 86_400_000


def refuse(request: StartRequest) -> Any:
    raise UsageError("PARAM_MISSING", f"'{request.workflow_id}' lacks a param", "give it")


def tell(connection: Connection, start: Any, name: str, **params: Any) -> None:
    number = send(connection, name, params, {}, None, None, NOW).seq_id
    query = select(signals.c.id).where(signals.c.name == name, signals.c.seq_id == number)
    match_signal(connection, connection.execute(query).scalar_one(), NOW, start)


def test_a_schedule_tells_of_its_last_start_alone(connection: Connection) -> None:
    push_workflow(connection, top="Trigger: {cron: '@daily'}")
    connection.execute(update(time_triggers).values(next_at=NOW))
    fire_due(connection, NOW + DAY, refuse)
    found = workflow_triggers(connection, "w")
    (trigger,) = found["time_triggers"]
    assert trigger["last_refusal"] == {"time": NOW + DAY, "why": "'w' lacks a param"}
    (refusal,) = found["refusals"]
    assert (refusal["initiator"]["type"], refusal["remedy"]) == ("TIME", "give it")
    fire_due(connection, NOW + 2 * DAY, Starter())
    found = workflow_triggers(connection, "w")
    assert found["time_triggers"][0]["last_refusal"] is None
    assert len(found["refusals"]) == 1


def test_a_condition_that_was_false_is_told_until_the_next_signals_come_together(
    connection: Connection,
) -> None:
    push_workflow(connection, top="Trigger: {signal: {definitions: {a: {}}, condition: day > 1}}")
    tell(connection, Starter(), "a", day=1)
    (trigger,) = workflow_triggers(connection, "w")["signal_triggers"]
    assert trigger["last_refusal"] == {"time": NOW, "why": "its condition was false"}
    tell(connection, Starter(), "a", day=2)
    assert workflow_triggers(connection, "w")["signal_triggers"][0]["last_refusal"] is None


def test_a_dedup_expression_that_fails_is_no_refusal(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top="Trigger: {signal: {definitions: {a: {}}, dedup_expr: nobody}}")
    tell(connection, starter, "a", day=1)
    found = workflow_triggers(connection, "w")
    assert starter.signals == [{"a": 1}]
    assert (found["signal_triggers"][0]["last_refusal"], found["refusals"]) == (None, [])
    assert "dedup_expr" in workflow_timeline(connection, "w")["timeline_events"][0]["log"]


def test_a_trigger_on_tables_whose_start_was_refused_tells_it_whatever_it_saw_since(
    connection: Connection,
) -> None:
    push_workflow(connection, top="Trigger: {incremental: db.t}")
    row = connection.execute(select(incremental_triggers)).one()
    initiator = {"type": "INCREMENTAL", "trigger_uuid": row.trigger_uuid, "tables": {}}
    request = StartRequest(workflow_id="w", initiator=initiator)
    assert try_start(connection, request, refuse, NOW) is None
    connection.execute(update(incremental_triggers).values(started_at=NOW, decision='{"what":"nothing"}'))
    (trigger,) = workflow_triggers(connection, "w")["incremental_triggers"]
    assert trigger["last_refusal"] == {"time": NOW, "why": "'w' lacks a param"}
    connection.execute(update(incremental_triggers).values(instance_id=1))
    assert workflow_triggers(connection, "w")["incremental_triggers"][0]["last_refusal"] is None


def test_a_refusal_that_is_not_known_any_more_is_still_one(connection: Connection) -> None:
    push_workflow(connection, top="Trigger: {incremental: db.t}")
    connection.execute(update(incremental_triggers).values(started_at=NOW))
    (trigger,) = workflow_triggers(connection, "w")["incremental_triggers"]
    assert trigger["last_refusal"] == {"time": NOW, "why": "why is not known any more"}


def test_the_timeline_says_it_in_words(connection: Connection) -> None:
    push_workflow(connection)
    try_start(connection, StartRequest(workflow_id="w", initiator={"type": "TIME"}), refuse, NOW)
    log = workflow_timeline(connection, "w")["timeline_events"][0]["log"]
    assert log == "a trigger fired, and its start was refused: 'w' lacks a param"


def test_so_many_events_at_most_are_looked_at(connection: Connection) -> None:
    push_workflow(connection)
    try_start(connection, StartRequest(workflow_id="w", initiator={"type": "TIME"}), refuse, NOW)
    row = {"at": NOW, "kind": "workflow", "workflow_id": "w", "data": '{"action":"paused"}'}
    connection.execute(insert(events), [row] * 299)
    assert len(workflow_triggers(connection, "w")["refusals"]) == 1
    connection.execute(insert(events), [row])
    assert workflow_triggers(connection, "w")["refusals"] == []
