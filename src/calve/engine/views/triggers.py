"""The triggers of a workflow: what they wait for, and what they did last."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from calve.engine.triggers.tables.seen import Seen
from calve.engine.triggers.tables.waits import Waits
from calve.engine.views.documents import Json
from calve.engine.views.lookup import find_workflow
from calve.engine.views.refusals import find_refusal, newest_refusals
from calve.state.orchestration import incremental_triggers, signal_triggers, time_triggers

#: So many refusals are told beside the triggers.
_REFUSALS = 20


def workflow_triggers(connection: Connection, workflow_id: str) -> Json:
    """The triggers of the active version, and the newest starts that were refused.

    `decision` says why one on tables did, or did not, start a run; `last_refusal` why the last start of a
    trigger was refused, if it was.
    """
    find_workflow(connection, workflow_id)
    refusals = newest_refusals(connection, workflow_id)
    return {
        "workflow_id": workflow_id,
        "time_triggers": [_time(row, refusals) for row in _rows(connection, time_triggers, workflow_id)],
        "signal_triggers": [
            _signal(row, refusals) for row in _rows(connection, signal_triggers, workflow_id)
        ],
        "incremental_triggers": [
            _tables(row, refusals) for row in _rows(connection, incremental_triggers, workflow_id)
        ],
        "refusals": refusals[:_REFUSALS],
    }


def was_refused(row: Row[Any]) -> bool:
    """Whether no instance came of the last start of a trigger on tables."""
    return row.started_at is not None and row.instance_id is None


def last_start_refused(row: Row[Any], refusals: Sequence[Json]) -> Json | None:
    """When and why the last start of a trigger on tables was refused; None if it was not."""
    if not was_refused(row):
        return None
    own = [one for one in refusals if one["time"] == row.started_at]
    unknown = {"time": row.started_at, "why": "why is not known any more"}
    return find_refusal(own, row.trigger_uuid) or unknown


def _rows(connection: Connection, table: Table, workflow_id: str) -> list[Row[Any]]:
    query = select(table).where(table.c.workflow_id == workflow_id).order_by(table.c.trigger_uuid)
    return list(connection.execute(query))


def _head(row: Row[Any], is_active: bool) -> Json:
    definition = json.loads(row.definition)
    return {"trigger_uuid": row.trigger_uuid, "is_active": is_active, "definition": definition}


def _time(row: Row[Any], refusals: Sequence[Json]) -> Json:
    return {
        **_head(row, row.next_at is not None),
        "watermark_time": row.watermark_at,
        "next_time": row.next_at,
        "last_refusal": find_refusal(refusals, row.trigger_uuid, trigger_time=row.watermark_at),
    }


def _signal(row: Row[Any], refusals: Sequence[Json]) -> Json:
    used = {name: numbers[0] for name, numbers in json.loads(row.checkpoints).items()}
    refusal = find_refusal(refusals, row.trigger_uuid, signal_id_map=used)
    return {**_head(row, row.active), "used_signals": used, "last_refusal": refusal}


def _tables(row: Row[Any], refusals: Sequence[Json]) -> Json:
    return {
        **_head(row, row.active),
        "seen": Seen.from_text(row.seen).to_json(),
        "workflow_instance_id": row.instance_id,
        "start_time": row.started_at,
        "waiting_since": row.waiting_since,
        "waits": list(Waits.from_text(row.waits).last_ms),
        "falls_behind": row.falls_behind,
        "decision": None if row.decision is None else json.loads(row.decision),
        "decision_time": row.looked_at,
        "last_refusal": last_start_refused(row, refusals),
    }
