"""What triggers ask for is what a start understands: the instances are there, with their params."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from calve.engine.actions.start import start_instance
from calve.engine.model.requests import Started, StartRequest
from calve.engine.signals.sending import send
from calve.engine.triggers.signal_triggers import match_signal
from calve.engine.triggers.starting import Start
from calve.engine.triggers.time_triggers import fire_due
from calve.state.orchestration import runs, signals, time_triggers
from support.engine_db import NOW, event_data, push_workflow, rows

MIDNIGHT = int(datetime.fromisoformat("2024-05-15T22:00Z").timestamp() * 1000)


def starting(connection: Connection) -> Start:
    def start(request: StartRequest) -> Started:
        return start_instance(connection, request, NOW)

    return start


def param_values(row: dict[str, Any]) -> dict[str, Any]:
    return {name: param["evaluated_result"] for name, param in json.loads(row["params"]).items()}


def test_a_firing_is_an_instance_with_the_dates_of_its_time_in_its_zone(connection: Connection) -> None:
    trigger = "Trigger: [{cron: '@daily', timezone: Europe/Berlin}]"
    push_workflow(connection, top=trigger, inside="day: $TARGET_RUN_DATE", now_ms=MIDNIGHT - 1)
    fire_due(connection, MIDNIGHT, starting(connection))
    connection.execute(time_triggers.update().values(watermark_at=MIDNIGHT - 1, next_at=MIDNIGHT))
    fire_due(connection, MIDNIGHT, starting(connection))
    (run,) = rows(connection, runs)
    found = param_values(run)
    assert (found["RUN_TS"], found["day"], found["RUN_DATE"]) == (MIDNIGHT, "20240516", "20240515")
    assert json.loads(run["initiator"])["type"] == "TIME"
    assert event_data(connection, "trigger") == []


def test_params_of_a_signal_reach_the_instance(connection: Connection) -> None:
    trigger = "{definitions: {db/t: {}}, params: {'!day<long>': \"params.getFromSignal('db/t', 'day')\"}}"
    push_workflow(connection, top=f"Trigger: [{{signal: {trigger}}}]", inside="day: 0")
    send(connection, "db/t", {"day": 7}, {}, None, None, NOW)
    started = match_signal(connection, rows(connection, signals)[0]["id"], NOW, starting(connection))
    (run,) = rows(connection, runs)
    assert [found.run for found in started] == [run["id"]]
    assert param_values(run)["day"] == 7


def test_a_firing_that_cannot_start_is_noted_and_not_asked_for_again(connection: Connection) -> None:
    push_workflow(connection, top="Trigger: [{cron: '@daily'}]", inside="day: $nobody", now_ms=MIDNIGHT)
    due = fire_due(connection, MIDNIGHT + 86_400_000, starting(connection))
    assert rows(connection, runs) == []
    assert [found["error"]["code"] for found in event_data(connection, "trigger")] == ["PARAM_REFERENCE"]
    assert due is not None
    assert due > MIDNIGHT + 86_400_000
