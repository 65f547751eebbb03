"""A signal is found by its params as a look at every signal would find it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from calve.engine.signals import matching
from calve.engine.signals.encoding import SignalValue
from calve.engine.signals.matching import Stretch, find_match, match_dependency
from calve.engine.signals.model import Condition, satisfies
from calve.engine.signals.sending import send
from calve.state.database import Database
from calve.workflow.definition.signals import Operator
from support.engine_db import NOW

pytestmark = pytest.mark.slow

Params = Mapping[str, SignalValue]

_numbers = itertools.count(1)

# Few values, and most params there: what is drawn evenly from many hardly ever matches.
values = st.sampled_from([0, 1, 2, 1, "", "0", "1"])
params: st.SearchStrategy[Any] = st.fixed_dictionaries({"p": values, "q": values}, optional={"r": values})
conditions = st.lists(
    st.builds(Condition, st.sampled_from("ppqqr"), st.sampled_from(Operator), values), max_size=3
)
stretches = st.one_of(
    st.sampled_from([Stretch(), Stretch(newest=True)]),
    st.builds(
        Stretch,
        after=st.integers(0, 12),
        until=st.one_of(st.none(), st.integers(0, 25)),
        newest=st.booleans(),
    ),
)


def expected(sent: Sequence[Params], wanted: Sequence[Condition], stretch: Stretch) -> int | None:
    until = len(sent) if stretch.until is None else stretch.until
    found = [
        number
        for number, signal in enumerate(sent, start=1)
        if stretch.after < number <= until and satisfies(signal, wanted)
    ]
    return (max if stretch.newest else min)(found, default=None)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so low that a few signals take every way through the search."""
    monkeypatch.setattr(matching, "FEW", 2)
    monkeypatch.setattr(matching, "PAGE", 3)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@settings(max_examples=40)
@given(data=st.data())
def test_the_match_is_the_one_that_a_look_at_every_signal_gives(
    engine_db: Database, data: st.DataObject
) -> None:
    sent = data.draw(st.lists(params, min_size=12, max_size=24))
    name = f"s{next(_numbers)}"
    with engine_db.write() as connection:
        for number, signal in enumerate(sent):
            send(connection, name, signal, {}, None, str(number), NOW)
    with engine_db.read() as connection:
        for wanted, stretch in data.draw(
            st.lists(st.tuples(conditions, stretches), min_size=10, max_size=20)
        ):
            assert find_match(connection, name, wanted, stretch) == expected(sent, wanted, stretch)


def test_a_dependency_takes_the_newest_signal_of_any_age(connection: Connection) -> None:
    for hour in (3, 1, 2):
        send(connection, "db/t", {"hour": hour, "day": 1}, {}, None, None, NOW)
    assert match_dependency(connection, "db/t", []) == 3
    assert match_dependency(connection, "db/t", [Condition("hour", Operator.GREATER, 1)]) == 3
    assert match_dependency(connection, "db/t", [Condition("hour", Operator.EQUAL, 3)]) == 1
    assert match_dependency(connection, "db/t", [Condition("hour", Operator.EQUAL, "3")]) is None
    assert match_dependency(connection, "db/u", []) is None


def test_a_rare_condition_keeps_the_search_small(connection: Connection) -> None:
    for number in range(700):
        send(connection, "db/t", {"day": number, "region": "eu"}, {}, None, None, NOW)
    wanted = [Condition("region", Operator.EQUAL, "eu"), Condition("day", Operator.EQUAL, 5)]
    assert match_dependency(connection, "db/t", wanted) == 6
    common = [Condition("region", Operator.EQUAL, "eu"), Condition("day", Operator.LESS, 690)]
    assert match_dependency(connection, "db/t", common) == 690
