"""What starts workflows, in a few words, for lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table, select

from calve.engine.triggers.tables.decision import What
from calve.engine.views.documents import load_map
from calve.server.dependencies import Json
from calve.state.orchestration import incremental_triggers, signal_triggers, time_triggers
from calve.ui.views.workflows.triggers import schedule, signal_names

#: The looks after which what was counted still waits.
_STILL_WAITING = frozenset({What.RUNNING, What.WAITING, What.HELD})


def starts_in_short(connection: Connection, workflow_ids: Sequence[str]) -> dict[str, list[Json]]:
    """What starts each of some workflows, in a few words, and when it next does, by workflow."""
    found: dict[str, list[Json]] = defaultdict(list)
    for table, say in (
        (time_triggers, _short_time),
        (signal_triggers, _short_signal),
        (incremental_triggers, _short_tables),
    ):
        for row in _rows(connection, table, workflow_ids):
            found[row.workflow_id].append(say(row, load_map(row.definition)))
    return found


def _rows(connection: Connection, table: Table, workflow_ids: Sequence[str]) -> Sequence[Any]:
    query = select(table).where(table.c.workflow_id.in_(workflow_ids))
    return connection.execute(query.order_by(table.c.workflow_id, table.c.trigger_uuid)).all()


def _short_time(row: Any, definition: Json) -> Json:
    return {
        "kind": "time",
        "text": schedule(definition),
        "at": row.next_at,
        "active": row.next_at is not None,
    }


def _short_signal(row: Any, definition: Json) -> Json:
    text = "on " + " and ".join(signal_names(definition))
    return {"kind": "signal", "text": text, "at": None, "active": row.active}


def _short_tables(row: Any, definition: Json) -> Json:
    decision = load_map(row.decision)
    return {
        "kind": "incremental",
        "text": "on changes of tables",
        "at": None,
        "active": row.active,
        "lag": _waiting(decision),
    }


def _waiting(decision: Json) -> str | None:
    """What waited at the last look; None if nothing did, or if it is not known."""
    if decision.get("what") == What.ERROR:
        return str(decision["why"])
    if decision.get("what") not in _STILL_WAITING:
        return None
    snapshots = sum(table["snapshots"] for table in decision.get("tables", ()))
    rows = sum(table["rows"] for table in decision.get("tables", ()))
    return f"{snapshots:,} snapshots, {rows:,} rows" if snapshots else None
