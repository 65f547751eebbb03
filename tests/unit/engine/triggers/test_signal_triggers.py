"""Signals start the workflows that wait for them: once, in order, all that match and agree."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection, select

from calve.engine.catalog.properties import set_properties
from calve.engine.catalog.workflows import activate, deactivate
from calve.engine.model.requests import StartOutcome
from calve.engine.signals.sending import send
from calve.engine.triggers.signal_triggers import match_signal
from calve.errors import UsageError
from calve.state.database import Database
from calve.state.orchestration import signal_subscriptions, signal_triggers, signals
from calve.workflow.definition.properties import Properties
from calve.workflow.params import ParamSource
from support.engine_db import AUTHOR, NOW, Starter, event_data, push_workflow, rows

pytestmark = pytest.mark.slow


def say(connection: Connection, name: str, **params: Any) -> int:
    """Send a signal; gives its key."""
    number = send(connection, name, params, {}, None, None, NOW).seq_id
    query = select(signals.c.id).where(signals.c.name == name, signals.c.seq_id == number)
    key: int = connection.execute(query).scalar_one()
    return key


def tell(connection: Connection, starter: Starter, name: str, **params: Any) -> None:
    """Send a signal, and let the triggers see it."""
    match_signal(connection, say(connection, name, **params), NOW, starter)


def trigger(text: str) -> str:
    return f"Trigger: [{{signal: {text}}}]"


def test_each_signal_starts_the_workflow_once(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("db/t"))
    key = say(connection, "db/t", day=1)
    started = match_signal(connection, key, NOW, starter)
    assert [found.status for found in started] == [StartOutcome.CREATED]
    assert match_signal(connection, key, NOW, starter) == []
    tell(connection, starter, "db/t", day=2)
    tell(connection, starter, "db/other", day=2)
    assert starter.signals == [{"db/t": 1}, {"db/t": 2}]


def test_the_start_names_the_trigger_the_signals_and_their_params(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("{definitions: {db/t: {}}, params: {source: $day}}"))
    tell(connection, starter, "db/t", day=20240101, region="eu")
    (request,) = starter.requests
    assert request.initiator == {
        "type": "SIGNAL",
        "trigger_uuid": rows(connection, signal_triggers)[0]["trigger_uuid"],
        "signal_id_map": {"db/t": 1},
        "params": {"db/t": {"day": 20240101, "region": "eu"}},
    }
    assert (request.workflow_id, request.version, request.source) == ("w", "active", ParamSource.SIGNAL)
    assert request.params["source"].value == "$day"


def test_signals_that_came_before_the_trigger_do_not_fire_it(connection: Connection) -> None:
    starter = Starter()
    early = say(connection, "db/t", day=1)
    push_workflow(connection, top=trigger("[db/t, db/u]"))
    assert match_signal(connection, early, NOW, starter) == []
    tell(connection, starter, "db/u", day=1)
    assert starter.signals == []
    tell(connection, starter, "db/t", day=2)
    assert starter.signals == [{"db/t": 2, "db/u": 1}]


def test_all_signals_of_a_trigger_are_used_up_together_the_oldest_first(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("[a, b]"))
    for day in (1, 2, 3):
        tell(connection, starter, "a", day=day)
    for day in (1, 2):
        tell(connection, starter, "b", day=day)
    assert starter.signals == [{"a": 1, "b": 1}, {"a": 2, "b": 2}]


def test_signals_join_by_the_values_of_their_keys_in_order(connection: Connection) -> None:
    starter = Starter()
    push_workflow(
        connection,
        top=trigger("{definitions: {a: {join_keys: [day, region]}, b: {join_keys: [date, area]}}}"),
    )
    tell(connection, starter, "a", day=1, region="eu")
    tell(connection, starter, "b", date=1, area="us")
    tell(connection, starter, "b", date="1", area="eu")
    tell(connection, starter, "b", date=1)
    assert starter.signals == []
    tell(connection, starter, "b", date=1, area="eu", rows=5)
    assert starter.signals == [{"a": 1, "b": 4}]


def test_match_params_compare_by_their_operator_within_their_type(connection: Connection) -> None:
    starter = Starter()
    push_workflow(
        connection,
        top=trigger("{definitions: {a: {match_params: {hour: {value: 5, operator: '>='}, region: eu}}}}"),
    )
    for hour, region in ((4, "eu"), (5, "us"), ("6", "eu"), (5, "eu"), (7, "eu")):
        tell(connection, starter, "a", hour=hour, region=region)
    tell(connection, starter, "a", hour=9)
    assert starter.signals == [{"a": 4}, {"a": 5}]


def test_a_signal_that_comes_up_early_brings_those_before_it_along(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("a"))
    keys = [say(connection, "a", day=day) for day in (1, 2, 3)]
    for key in reversed(keys):
        match_signal(connection, key, NOW, starter)
    assert starter.signals == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_a_condition_that_is_false_uses_the_signals_up_and_starts_nothing(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("{definitions: {a: {}, b: {}}, condition: region != 'test'}"))
    tell(connection, starter, "a", region="test")
    tell(connection, starter, "b", day=1)
    tell(connection, starter, "b", day=2)
    assert starter.signals == []
    assert [found["action"] for found in event_data(connection, "trigger")] == ["trigger_condition_false"]
    tell(connection, starter, "a", region="eu")
    assert starter.signals == [{"a": 2, "b": 2}]


def test_a_condition_sees_params_of_named_signals(connection: Connection) -> None:
    starter = Starter()
    condition = "params.getFromSignal('db/t', 'day') == limit && params.getFromSignal('hour') > 1"
    push_workflow(
        connection,
        top=trigger(f'{{definitions: {{db/t: {{}}}}, params: {{limit: 7}}, condition: "{condition}"}}'),
    )
    for day, hour in ((7, 1), (6, 2), (7, 2)):
        tell(connection, starter, "db/t", day=day, hour=hour)
    assert starter.signals == [{"db/t": 3}]


def test_a_condition_that_cannot_be_evaluated_is_noted_and_starts_nothing(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("{definitions: {a: {}}, condition: nobody > 1}"))
    tell(connection, starter, "a", day=1)
    (noted,) = event_data(connection, "trigger")
    assert (noted["action"], noted["error"]["code"]) == ("trigger_failed", "PARAM_REFERENCE")
    assert starter.signals == []


def test_a_text_with_a_dollar_is_not_taken_for_a_reference(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("{definitions: {a: {}}, condition: price == '$5'}"))
    tell(connection, starter, "a", price="$5")
    assert starter.signals == [{"a": 1}]


def test_two_firings_with_the_same_dedup_text_are_one(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("{definitions: {a: {}}, dedup_expr: day}"))
    for day, hour in ((1, 1), (1, 2), (2, 1)):
        tell(connection, starter, "a", day=day, hour=hour)
    assert starter.signals == [{"a": 1}, {"a": 3}]


def test_a_dedup_expression_that_fails_falls_back_to_the_signals(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("{definitions: {a: {}}, dedup_expr: nobody}"))
    for day in (1, 2):
        tell(connection, starter, "a", day=day)
    assert starter.signals == [{"a": 1}, {"a": 2}]
    assert len(event_data(connection, "trigger")) == 2


def test_a_workflow_that_cannot_be_started_stops_no_other(connection: Connection) -> None:
    starter = Starter(refused={"broken": UsageError("PARAM_REQUIRED", "param 'x' is required", "set it")})
    push_workflow(connection, "broken", top=trigger("a"))
    push_workflow(connection, "whole", top=trigger("a"))
    tell(connection, starter, "a", day=1)
    assert [request.workflow_id for request in starter.requests] == ["whole"]
    (noted,) = event_data(connection, "trigger", "broken")
    assert noted["error"]["code"] == "PARAM_REQUIRED"
    starter.refused.clear()
    tell(connection, starter, "a", day=2)
    assert [request.workflow_id for request in starter.requests] == ["whole", "broken", "whole"]


def test_what_a_refused_start_wrote_is_undone(connection: Connection) -> None:
    push_workflow(connection, top=trigger("a"))

    def half_done(request: object) -> Any:
        say(connection, "half", day=1)
        raise UsageError("PARAM_REQUIRED", "param 'x' is required", "set it")

    match_signal(connection, say(connection, "a", day=1), NOW, half_done)
    assert [row["name"] for row in rows(connection, signals)] == ["a"]


def test_an_unchanged_trigger_goes_on_where_it_was_after_a_push(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("[a, b]"))
    tell(connection, starter, "a", day=1)
    push_workflow(connection, top=trigger("[a, b]"))
    tell(connection, starter, "b", day=1)
    assert starter.signals == [{"a": 1, "b": 1}]


def test_a_changed_trigger_begins_anew(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("[a, b]"))
    tell(connection, starter, "a", day=1)
    push_workflow(connection, top=trigger("[a, c]"))
    tell(connection, starter, "c", day=1)
    tell(connection, starter, "b", day=1)
    assert starter.signals == []
    assert [row["signal_name"] for row in rows(connection, signal_subscriptions)] == ["a", "c"]


def test_only_triggers_of_the_active_version_live(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("a"))
    push_workflow(connection, top="is_active: false\n" + trigger("b"))
    tell(connection, starter, "b", day=1)
    assert starter.signals == []
    activate(connection, "w", 2, AUTHOR, NOW)
    tell(connection, starter, "a", day=1)
    tell(connection, starter, "b", day=2)
    assert starter.signals == [{"b": 2}]
    deactivate(connection, "w", AUTHOR, NOW)
    tell(connection, starter, "b", day=3)
    assert starter.signals == [{"b": 2}]
    assert rows(connection, signal_triggers) == rows(connection, signal_subscriptions) == []


def test_a_disabled_trigger_is_not_matched_and_begins_anew_when_enabled(connection: Connection) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("a"))
    set_properties(connection, "w", Properties(signal_trigger_disabled=True), AUTHOR, NOW)
    tell(connection, starter, "a", day=1)
    set_properties(connection, "w", Properties(signal_trigger_disabled=False), AUTHOR, NOW)
    tell(connection, starter, "a", day=2)
    assert starter.signals == [{"a": 2}]


def test_a_push_that_disables_triggers_without_a_new_active_version_rests_them(
    connection: Connection,
) -> None:
    starter = Starter()
    push_workflow(connection, top=trigger("a"))
    push_workflow(connection, top="is_active: false\nProperties: {signal_trigger_disabled: true}")
    tell(connection, starter, "a", day=1)
    assert starter.signals == []


def test_a_number_that_no_signal_can_have_is_refused_at_push(connection: Connection) -> None:
    with pytest.raises(UsageError) as refused:
        push_workflow(connection, top=trigger(f"{{definitions: {{a: {{match_params: {{p: {2**63}}}}}}}}}"))
    assert refused.value.code == "TRIGGER_INVALID"


def test_engines_that_match_at_once_and_in_any_order_lose_nothing_and_start_nothing_twice(
    engine_db: Database,
) -> None:
    with engine_db.write() as connection:
        push_workflow(connection, "one", top=trigger("a"))
        push_workflow(connection, "both", top=trigger("[a, b]"))
        keys = [say(connection, name, day=day) for day in range(15) for name in "ab"]
    random.Random(7).shuffle(keys)
    starter = Starter()

    def engine(key: int) -> None:
        with engine_db.write() as connection:
            match_signal(connection, key, NOW, starter)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(engine, keys))
    fired: dict[str, list[dict[str, int]]] = {"one": [], "both": []}
    for request in starter.requests:
        fired[request.workflow_id].append(request.initiator["signal_id_map"])
    assert sorted(ids["a"] for ids in fired["one"]) == [*range(1, 16)]
    assert sorted(ids["a"] for ids in fired["both"]) == [*range(1, 16)]
    assert all(ids["a"] == ids["b"] for ids in fired["both"])


def test_a_signal_that_is_gone_starts_nothing(engine_db: Database) -> None:
    with engine_db.write() as connection:
        assert match_signal(connection, 12345, NOW, Starter()) == []
