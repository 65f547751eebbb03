"""Starting what a trigger asks for, so that one workflow that cannot be started stops no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection

from calve.engine.model.requests import Started, StartRequest
from calve.engine.outbox import record_event
from calve.errors import CalveError, UnreachableError

#: The kind of the events of triggers, and what such an event may tell of.
EVENT = "trigger"
FAILED = "trigger_failed"
CONDITION_FALSE = "trigger_condition_false"
DEDUP_FAILED = "trigger_dedup_failed"

#: Starts an instance in the transaction that the trigger is fired in.
Start = Callable[[StartRequest], Started]


def try_start(connection: Connection, request: StartRequest, start: Start, now_ms: int) -> Started | None:
    """Start an instance; None if it is refused, which undoes what was begun and is noted as an event."""
    try:
        with connection.begin_nested():
            return start(request)
    except UnreachableError:
        raise
    except CalveError as error:
        record_failure(connection, request.workflow_id, request.initiator, error, now_ms)
        return None


def record_failure(
    connection: Connection,
    workflow_id: str,
    initiator: Mapping[str, Any],
    error: CalveError,
    now_ms: int,
    action: str = FAILED,
) -> None:
    """Note an error of a trigger that fired: nothing came of it, unless `action` says something else."""
    data = {"action": action, "initiator": dict(initiator), "error": error.to_json()}
    record_event(connection, now_ms, EVENT, workflow_id, data)
