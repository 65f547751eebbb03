"""Starting the workflows whose triggers wait for a signal.

A trigger has a checkpoint for each of its signals. It fires when all of them are there beyond their
checkpoints, match, and agree in their join keys; then every checkpoint moves to the signal that was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import Connection, select, update

from calve.engine.catalog.rows import find_locked
from calve.engine.model.requests import Started
from calve.engine.signals.encoding import SignalValue
from calve.engine.signals.matching import Stretch, find_match
from calve.engine.signals.model import Condition, Signal, satisfies
from calve.engine.signals.sending import get
from calve.engine.triggers.checkpoints import Checkpoint, from_text, to_text
from calve.engine.triggers.signal_starts import SignalFiring, start_firing
from calve.engine.triggers.starting import Start
from calve.state.orchestration import signal_subscriptions, signal_triggers, signals
from calve.workflow.definition.signals import Operator, SignalTrigger, SignalTriggerEntry


def match_signal(connection: Connection, signal_id: int, now_ms: int, start: Start) -> list[Started]:
    """Start every workflow for which a signal is the last one that was missing; `signal_id` is its key.

    Signals of a name get their turn in the order of their numbers, in whatever order this is called for
    them: one that comes up early brings those before it along.
    """
    row = connection.execute(select(signals).where(signals.c.id == signal_id)).first()
    if row is None:
        return []
    signal = Signal.from_row(row)
    started: list[Started] = []
    for subscription in _subscribed(connection, signal):
        # Always the workflow first, as a push does it, so that no two wait for each other.
        if find_locked(connection, subscription.workflow_id) is not None:
            for firing in _fire(connection, subscription, signal):
                made = start_firing(connection, firing, start, now_ms)
                started += [] if made is None else [made]
    return started


@dataclass(frozen=True, slots=True)
class _Subscription:
    workflow_id: str
    trigger_uuid: str
    trigger: SignalTrigger

    def firing(self, used: Mapping[str, Signal]) -> SignalFiring:
        return SignalFiring(self.workflow_id, self.trigger_uuid, self.trigger, used)


def _subscribed(connection: Connection, signal: Signal) -> list[_Subscription]:
    """The triggers that wait for such a signal, by workflow."""
    link = signal_subscriptions
    query = (
        select(link.c.workflow_id, link.c.trigger_uuid, signal_triggers.c.definition)
        .join(
            signal_triggers,
            (signal_triggers.c.workflow_id == link.c.workflow_id)
            & (signal_triggers.c.trigger_uuid == link.c.trigger_uuid),
        )
        .where(link.c.signal_name == signal.name, signal_triggers.c.active)
        .order_by(link.c.workflow_id, link.c.trigger_uuid)
    )
    found = []
    for workflow_id, uuid, definition in connection.execute(query):
        trigger = read_signal_trigger(definition)
        if _fits(trigger.definitions[signal.name], signal.params):
            found.append(_Subscription(workflow_id, uuid, trigger))
    return found


@lru_cache(maxsize=1024)
def read_signal_trigger(definition: str) -> SignalTrigger:
    """The trigger in a column."""
    return SignalTrigger.model_validate_json(definition)


def _fire(connection: Connection, subscription: _Subscription, signal: Signal) -> list[SignalFiring]:
    """All firings that this signal, and those before it that have not had their turn, complete."""
    where = (
        signal_triggers.c.workflow_id == subscription.workflow_id,
        signal_triggers.c.trigger_uuid == subscription.trigger_uuid,
        signal_triggers.c.active,
    )
    text = connection.execute(select(signal_triggers.c.checkpoints).where(*where)).scalar()
    if text is None:
        return []
    checkpoints = from_text(text)
    if signal.seq_id <= checkpoints[signal.name].passed:
        return []
    firings = []
    conditions = _conditions(subscription.trigger.definitions[signal.name])
    while (turn := _next_turn(connection, signal, conditions, checkpoints)) is not None:
        used = _complete(connection, subscription.trigger, turn, checkpoints)
        if used is not None:
            firings.append(subscription.firing(used))
            for name, found in used.items():
                checkpoints[name] = Checkpoint(found.seq_id, checkpoints[name].seen)
        checkpoints[signal.name] = Checkpoint(checkpoints[signal.name].used, turn.seq_id)
    connection.execute(update(signal_triggers).where(*where).values(checkpoints=to_text(checkpoints)))
    return firings


def _next_turn(
    connection: Connection,
    signal: Signal,
    conditions: list[Condition],
    checkpoints: Mapping[str, Checkpoint],
) -> Signal | None:
    """The oldest signal, up to this one, that matches and has not had its turn."""
    passed = checkpoints[signal.name].passed
    if passed >= signal.seq_id:
        return None
    found = find_match(connection, signal.name, conditions, Stretch(passed, signal.seq_id))
    if found is None:
        return None
    return signal if found == signal.seq_id else get(connection, signal.name, found)


def _complete(
    connection: Connection,
    trigger: SignalTrigger,
    turn: Signal,
    checkpoints: Mapping[str, Checkpoint],
) -> dict[str, Signal] | None:
    """The signals that come together with this one, the oldest of each; None if one is missing."""
    joined = _join_values(trigger.definitions[turn.name], turn.params)
    if joined is None:
        return None
    used: dict[str, Signal] = {}
    for name, entry in trigger.definitions.items():
        if name == turn.name:
            used[name] = turn
            continue
        conditions = _conditions(entry) + [
            Condition(param, Operator.EQUAL, value)
            for param, value in zip(entry.join_keys, joined, strict=True)
        ]
        found = find_match(connection, name, conditions, Stretch(checkpoints[name].used))
        if found is None:
            return None
        used[name] = get(connection, name, found)
    return used


def _conditions(entry: SignalTriggerEntry) -> list[Condition]:
    return [Condition(param, match.operator, match.value) for param, match in entry.match_params.items()]


def _join_values(entry: SignalTriggerEntry, params: Mapping[str, SignalValue]) -> list[SignalValue] | None:
    if not all(key in params for key in entry.join_keys):
        return None
    return [params[key] for key in entry.join_keys]


def _fits(entry: SignalTriggerEntry, params: Mapping[str, SignalValue]) -> bool:
    return _join_values(entry, params) is not None and satisfies(params, _conditions(entry))
