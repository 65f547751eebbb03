"""Signals as values, and what can be asked of their params."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row

from calve.engine.signals.encoding import SignalValue, holds
from calve.workflow.definition.signals import Operator


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that was sent. `id` is its key in the state, `seq_id` counts within the name."""

    id: int
    name: str
    seq_id: int
    uuid: str
    params: Mapping[str, SignalValue]
    payload: Mapping[str, Any]
    source: Mapping[str, Any] | None
    created_at: int

    @classmethod
    def from_row(cls, row: Row[Any]) -> Signal:
        """The signal that a row describes."""
        return cls(
            row.id,
            row.name,
            row.seq_id,
            row.uuid,
            json.loads(row.params),
            json.loads(row.payload),
            None if row.source is None else json.loads(row.source),
            row.created_at,
        )

    def to_json(self) -> dict[str, Any]:
        """The signal as the API shows it."""
        payload = dict(self.payload)
        if self.source is not None:
            payload["signal_source"] = dict(self.source)
        return {
            "name": self.name,
            "seq_id": self.seq_id,
            "instance_id": self.uuid,
            "params": dict(self.params),
            "payload": payload,
            "create_time": self.created_at,
        }


@dataclass(frozen=True, slots=True)
class SignalSent:
    """What became of a signal; a duplicate has the `seq_id` of the one before it."""

    name: str
    seq_id: int
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """What a param of a signal has to be."""

    param: str
    operator: Operator
    value: SignalValue


def satisfies(params: Mapping[str, SignalValue], conditions: Iterable[Condition]) -> bool:
    """True if a signal with these params meets all conditions."""
    return all(
        condition.param in params and holds(params[condition.param], condition.operator, condition.value)
        for condition in conditions
    )
