"""Random signals and triggers: what fires is what a look at everything that was ever sent gives."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from calve.engine.catalog.push import push
from calve.engine.signals.sending import send
from calve.engine.triggers.signal_triggers import match_signal
from calve.state.database import Database
from calve.state.orchestration import signals
from calve.workflow.definition import WorkflowDefinition
from support.engine_db import AUTHOR, NOW, Starter, definition

Entry = dict[str, Any]
_numbers = itertools.count(1)
_COMPARE = {
    "=": lambda one, other: one == other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
}

# Few values, and most params there: what is drawn evenly from many hardly ever matches or joins.
values = st.sampled_from([0, 1, 0, 1, "", "0"])
sent_params: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"k": st.sampled_from([0, 1])}, optional={"p": values, "q": values}
)
sent_signals = st.lists(
    st.tuples(st.sampled_from("aabbc"), st.one_of(sent_params, sent_params, st.just({"p": 1}))),
    min_size=8,
    max_size=20,
)
match_params = st.dictionaries(
    st.sampled_from("pq"),
    st.fixed_dictionaries({"value": values, "operator": st.sampled_from(sorted(_COMPARE))}),
    max_size=1,
)


@st.composite
def triggers(draw: st.DrawFn) -> dict[str, Entry]:
    names = draw(st.sampled_from(["a", "ab", "ab", "abc"]))
    joined = draw(st.booleans())
    return {
        name: {
            "match_params": draw(st.one_of(st.just({}), match_params)),
            "join_keys": ["k"] if joined else [],
        }
        for name in names
    }


def fits(entry: Entry, params: Mapping[str, Any]) -> bool:
    return all(key in params for key in entry["join_keys"]) and all(
        name in params
        and type(params[name]) is type(match["value"])
        and _COMPARE[match["operator"]](params[name], match["value"])
        for name, match in entry["match_params"].items()
    )


@dataclass
class Oracle:
    """One trigger, worked out by hand from the list of all signals."""

    trigger: dict[str, Entry]
    used: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    fired: list[dict[str, int]] = field(default_factory=list)

    def process(self, everything: Mapping[str, Sequence[Mapping[str, Any]]], name: str, number: int) -> None:
        if name not in self.trigger or not fits(self.trigger[name], everything[name][number - 1]):
            return
        for turn in range(1, number + 1):
            if turn > max(self.used.get(name, 0), self.seen.get(name, 0)):
                self._turn(everything, name, turn)

    def _turn(self, everything: Mapping[str, Sequence[Mapping[str, Any]]], name: str, turn: int) -> None:
        params = everything[name][turn - 1]
        if not fits(self.trigger[name], params):
            return
        self.seen[name] = turn
        firing = {name: turn}
        for other in self.trigger.keys() - {name}:
            partners = [
                number
                for number, found in enumerate(everything[other], start=1)
                if number > self.used.get(other, 0)
                and fits(self.trigger[other], found)
                and [same(found[key]) for key in self.trigger[other]["join_keys"]]
                == [same(params[key]) for key in self.trigger[name]["join_keys"]]
            ]
            if not partners:
                return
            firing[other] = min(partners)
        self.used.update(firing)
        self.fired.append(firing)


def same(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value


def workflow_with(workflow_id: str, prefix: str, trigger: dict[str, Entry]) -> WorkflowDefinition:
    plain = definition(workflow_id).to_json()
    plain["workflow"]["signal_triggers"] = [
        {"definitions": {prefix + name: entry for name, entry in trigger.items()}}
    ]
    return WorkflowDefinition.model_validate(plain)


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_triggers_fire_as_an_oracle_says_whatever_the_order_of_processing(
    engine_db: Database, data: st.DataObject
) -> None:
    trigger, sent = data.draw(triggers()), data.draw(sent_signals)
    case = f"c{next(_numbers)}"
    oracle, starter = Oracle(trigger), Starter()
    everything: dict[str, list[Mapping[str, Any]]] = {name: [] for name in "abc"}
    waiting: list[tuple[str, int]] = []
    with engine_db.write() as connection:
        push(connection, workflow_with(case, case, trigger), AUTHOR, NOW)

    def process(name: str, number: int) -> None:
        query = select(signals.c.id).where(signals.c.name == case + name, signals.c.seq_id == number)
        with engine_db.write() as connection:
            match_signal(connection, connection.execute(query).scalar_one(), NOW, starter)
        oracle.process(everything, name, number)

    for request_id, (name, params) in enumerate(sent):
        everything[name].append(params)
        with engine_db.write() as connection:
            send(connection, case + name, params, {}, None, str(request_id), NOW)
        waiting.append((name, len(everything[name])))
        if data.draw(st.booleans(), label="process some now"):
            process(*waiting.pop(data.draw(st.integers(0, len(waiting) - 1))))
    for name, number in data.draw(st.permutations(waiting)):
        process(name, number)

    fired = [{name.removeprefix(case): number for name, number in ids.items()} for ids in starter.signals]
    assert fired == oracle.fired
    if len(trigger) == 1:
        (only,) = trigger
        matching = [number for number, found in enumerate(everything[only], 1) if fits(trigger[only], found)]
        assert [ids[only] for ids in fired] == matching, "no signal is lost, whatever the order"
