"""From signals that came together to the start of a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from calve.engine.identity import derived_uuid
from calve.engine.model.requests import InitiatorType, Started, StartRequest
from calve.engine.outbox import dump, record_event
from calve.engine.signals.model import Signal
from calve.engine.signals.naming import SignalResolver, as_definitions
from calve.engine.triggers.starting import (
    CONDITION_FALSE,
    DEDUP_FAILED,
    EVENT,
    Start,
    record_failure,
    try_start,
)
from calve.errors import CalveError
from calve.workflow.definition.signals import SignalTrigger
from calve.workflow.params import Evaluation, ParamSource, evaluate_condition
from calve.workflow.sel.printing import plain_text


@dataclass(frozen=True, slots=True)
class SignalFiring:
    """A trigger, and the signals that it used up."""

    workflow_id: str
    trigger_uuid: str
    trigger: SignalTrigger
    used: Mapping[str, Signal]

    @property
    def seq_ids(self) -> dict[str, int]:
        """The number of each signal, by name."""
        return {name: signal.seq_id for name, signal in self.used.items()}

    @property
    def initiator(self) -> dict[str, Any]:
        """Who starts the instance."""
        return {
            "type": InitiatorType.SIGNAL.value,
            "trigger_uuid": self.trigger_uuid,
            "signal_id_map": self.seq_ids,
            "params": {name: dict(signal.params) for name, signal in self.used.items()},
        }

    @property
    def scope(self) -> Evaluation:
        """What expressions of the trigger see: its params, then those of the signals."""
        params = {name: signal.params for name, signal in self.used.items()}
        return Evaluation({**as_definitions(params), **self.trigger.params}, resolver=SignalResolver(params))


def start_firing(connection: Connection, firing: SignalFiring, start: Start, now_ms: int) -> Started | None:
    """Start the workflow, unless the trigger's condition is false or cannot be evaluated."""
    try:
        wanted = _is_wanted(firing)
    except CalveError as error:
        record_failure(connection, firing.workflow_id, firing.initiator, error, now_ms)
        return None
    if not wanted:
        data = {"action": CONDITION_FALSE, "initiator": firing.initiator}
        record_event(connection, now_ms, EVENT, firing.workflow_id, data)
        return None
    request = StartRequest(
        workflow_id=firing.workflow_id,
        params=firing.trigger.params,
        initiator=firing.initiator,
        request_id=_request_id(connection, firing, now_ms),
        source=ParamSource.SIGNAL,
    )
    return try_start(connection, request, start, now_ms)


def _is_wanted(firing: SignalFiring) -> bool:
    condition = firing.trigger.condition
    return not condition or evaluate_condition(condition, firing.scope)


def _request_id(connection: Connection, firing: SignalFiring, now_ms: int) -> str:
    """Of the text that `dedup_expr` gives; of the signals if there is none, or if it cannot be evaluated."""
    expression = firing.trigger.dedup_expr
    if expression:
        try:
            return derived_uuid(plain_text(firing.scope.expression(expression)))
        except CalveError as error:
            record_failure(connection, firing.workflow_id, firing.initiator, error, now_ms, DEDUP_FAILED)
    return derived_uuid(dump([firing.workflow_id, firing.trigger_uuid, sorted(firing.seq_ids.items())]))
