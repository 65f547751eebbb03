"""Up to which time many tables are complete."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import Connection, insert

from calve.engine.signals.encoding import SignalValue, encode
from calve.engine.signals.sending import send
from calve.engine.signals.watermarks import describe, moments_of, publish
from calve.errors import NotFoundError, UsageError
from calve.state.orchestration import signal_params, signals

SIGNAL = "valid_through:lake.db.a"


def test_the_greatest_moment_of_each_table_counts_and_others_are_absent(connection: Connection) -> None:
    for table, moment in (("lake.db.a", 5), ("lake.db.a", 70), ("lake.db.a", -3), ("lake.db.b", 0)):
        publish(connection, table, moment, 1)
    found = moments_of(connection, ["lake.db.a", "lake.db.b", "lake.db.c"])
    assert found == {"lake.db.a": 70, "lake.db.b": 0}
    assert moments_of(connection, ["lake.db.c"]) == {}
    assert moments_of(connection, []) == {}


@pytest.mark.parametrize("value", ["soon", "", 2**60, "2024-01-31", "1706659200000", 20240131])
def test_a_signal_that_says_no_moment_in_milliseconds_is_refused(
    connection: Connection, value: SignalValue
) -> None:
    with pytest.raises(UsageError) as refused:
        send(connection, SIGNAL, {"valid_through": value}, {}, None, None, 1)
    assert refused.value.code == "VALID_THROUGH_INVALID"
    assert moments_of(connection, ["lake.db.a"]) == {}


def test_the_remedy_for_a_date_is_its_milliseconds(connection: Connection) -> None:
    with pytest.raises(UsageError) as refused:
        send(connection, SIGNAL, {"valid_through": "2024-01-31"}, {}, None, None, 1)
    assert "send 1706659200000" in refused.value.remedy


def test_a_signal_may_say_other_things_beside_the_moment(connection: Connection) -> None:
    send(connection, SIGNAL, {"valid_through": 5, "by": "ada"}, {}, None, None, 1)
    send(connection, "arrived", {"valid_through": "soon"}, {}, None, None, 1)
    assert moments_of(connection, ["lake.db.a"]) == {"lake.db.a": 5}


def keep(connection: Connection, number: int, value: SignalValue) -> None:
    """A signal in the state, as nobody could send it."""
    row = {"name": SIGNAL, "seq_id": number, "payload": "{}", "created_at": 1}
    params = {"valid_through": value}
    connection.execute(insert(signals).values(**row, uuid=str(number), params=json.dumps(params)))
    connection.execute(
        insert(signal_params).values(name=SIGNAL, param="valid_through", value=encode(value), seq_id=number)
    )


def test_what_is_no_moment_is_left_out_and_hides_no_other(connection: Connection) -> None:
    keep(connection, 1, "soon")
    keep(connection, 2, 2**60)
    assert moments_of(connection, ["lake.db.a"]) == {}
    with pytest.raises(NotFoundError):
        describe(connection, "lake.db.a")
    keep(connection, 3, 70)
    keep(connection, 4, -(2**60))
    assert moments_of(connection, ["lake.db.a"]) == {"lake.db.a": 70}
    assert describe(connection, "lake.db.a")["valid_through"] == 70
