"""Signals are kept once, numbered within their name, and read back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection

from calve.engine.signals.limits import (
    NAME_BYTES,
    PARAM_COUNT,
    PARAM_NAME_BYTES,
    PAYLOAD_CHARACTERS,
    VALUE_BYTES,
)
from calve.engine.signals.model import SignalSent
from calve.engine.signals.sending import get, send
from calve.errors import NotFoundError, UsageError
from calve.state.database import Database
from calve.state.orchestration import signal_params, signals, wakeups
from support.engine_db import NOW, event_data, rows


def say(
    connection: Connection, name: str = "db/t", request_id: str | None = None, **params: Any
) -> SignalSent:
    return send(connection, name, params, {}, None, request_id, NOW)


def test_signals_are_numbered_within_their_name(connection: Connection) -> None:
    assert say(connection, "a", day=1) == SignalSent("a", 1, duplicate=False)
    assert say(connection, "a", day=2) == SignalSent("a", 2, duplicate=False)
    assert say(connection, "b", day=1) == SignalSent("b", 1, duplicate=False)


def test_the_same_params_without_a_request_id_are_the_same_signal(connection: Connection) -> None:
    say(connection, day=1, hour=2)
    assert say(connection, hour=2, day=1) == SignalSent("db/t", 1, duplicate=True)
    assert say(connection, hour="2", day=1) == SignalSent("db/t", 2, duplicate=False)
    assert len(rows(connection, signals)) == 2


def test_a_request_id_tells_signals_of_one_name_apart_and_nothing_else_does(connection: Connection) -> None:
    assert not say(connection, request_id="x", day=1).duplicate
    assert say(connection, request_id="x", day=2) == SignalSent("db/t", 1, duplicate=True)
    assert not say(connection, request_id="y", day=1).duplicate
    assert not say(connection, "other", request_id="x", day=1).duplicate


def test_a_signal_wakes_the_engine_and_is_told_of_once(connection: Connection) -> None:
    say(connection, day=1)
    say(connection, day=1)
    key = rows(connection, signals)[0]["id"]
    assert [(row["kind"], row["key"]) for row in rows(connection, wakeups)] == [("signal", str(key))]
    assert event_data(connection, "signal", "") == [
        {"name": "db/t", "seq_id": 1, "params": {"day": 1}, "source": None}
    ]


def test_a_signal_is_read_back_as_it_was_sent(connection: Connection) -> None:
    source = {"workflow_id": "w", "step_id": "s"}
    send(connection, "db/t", {"day": -5, "region": "å$"}, {"rows": [1, {"x": None}]}, source, None, NOW)
    found = get(connection, "db/t", 1)
    assert (dict(found.params), dict(found.payload)) == (
        {"day": -5, "region": "å$"},
        {"rows": [1, {"x": None}]},
    )
    assert found.to_json()["payload"]["signal_source"] == source
    assert (
        get(connection, "db/t") == get(connection, "db/t", "latest") == get(connection, "db/t", "1") == found
    )


def test_a_signal_that_was_never_sent_is_not_found(connection: Connection) -> None:
    say(connection, day=1)
    with pytest.raises(NotFoundError) as missing:
        get(connection, "db/t", 2)
    assert (missing.value.code, missing.value.remedy) == ("SIGNAL_NOT_FOUND", "the latest is 1")
    with pytest.raises(NotFoundError):
        get(connection, "db/u")
    with pytest.raises(UsageError, match="newest"):
        get(connection, "db/t", "newest")


@pytest.mark.parametrize(
    ("name", "params", "payload"),
    [
        ("", {}, {}),
        ("a\nb", {}, {}),
        ("a" * (NAME_BYTES + 1), {}, {}),
        ("\ud800", {}, {}),
        ("a", {"": 1}, {}),
        ("a", {"p" * (PARAM_NAME_BYTES + 1): 1}, {}),
        ("a", {"p": True}, {}),
        ("a", {"p": 1.5}, {}),
        ("a", {"p": None}, {}),
        ("a", {"p": 2**63}, {}),
        ("a", {"p": "ä" * (VALUE_BYTES // 2 + 1)}, {}),
        ("a", {"p": "\ud800"}, {}),
        ("a", {f"p{number}": 1 for number in range(PARAM_COUNT + 1)}, {}),
        ("a", {}, {"p": "x" * PAYLOAD_CHARACTERS}),
        ("a", {}, {"p": {1, 2}}),
    ],
)
def test_what_cannot_be_kept_is_refused(
    connection: Connection, name: str, params: dict[str, Any], payload: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as refused:
        send(connection, name, params, payload, None, None, NOW)
    assert refused.value.code == "SIGNAL_INVALID"
    assert rows(connection, signals) == rows(connection, wakeups) == []


def test_the_largest_signal_fits_the_index(connection: Connection) -> None:
    largest = "\U0010ffff" * (VALUE_BYTES // 4)
    send(connection, "n" * NAME_BYTES, {"p" * PARAM_NAME_BYTES: largest}, {}, None, None, NOW)
    assert len(rows(connection, signal_params)) == 1


def test_many_that_send_at_once_get_numbers_without_gaps_and_no_number_twice(engine_db: Database) -> None:
    def one(number: int) -> int:
        with engine_db.write() as connection:
            return say(connection, number=number % 30).seq_id

    with engine_db.read():
        pass
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(one, range(60)))
    assert sorted(numbers) == sorted([*range(1, 31)] * 2)
