"""What a change leaves for others, in its own transaction: events to be read, wakeups to be acted on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, insert

from calve.state.orchestration import events, wakeups

QUEUE = "queue"
SIGNAL = "signal"
TRIGGERS = "triggers"
TABLES = "tables"


def dump(document: Any) -> str:
    """A document as a column keeps it."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def record_event(
    connection: Connection, now_ms: int, kind: str, workflow_id: str, data: Mapping[str, Any]
) -> None:
    """Note something that happened outside of any run."""
    row = {"at": now_ms, "kind": kind, "workflow_id": workflow_id, "data": dump(data)}
    connection.execute(insert(events), row)


def wake_queue(connection: Connection, workflow_id: str) -> None:
    """Have some engine look at the queue of a workflow."""
    connection.execute(insert(wakeups), {"kind": QUEUE, "key": workflow_id})


def wake_for_signal(connection: Connection, signal: int) -> None:
    """Have some engine find out who waits for a signal; `signal` is its key in the state."""
    connection.execute(insert(wakeups), {"kind": SIGNAL, "key": str(signal)})


def wake_triggers(connection: Connection) -> None:
    """Have some engine find out when the next time trigger is due."""
    connection.execute(insert(wakeups).values(kind=TRIGGERS, key=""))


def wake_for_tables(connection: Connection) -> None:
    """Have some engine look at the tables that triggers wait for."""
    connection.execute(insert(wakeups).values(kind=TABLES, key=""))
