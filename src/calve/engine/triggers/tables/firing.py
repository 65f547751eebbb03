"""What a look leaves in the state: a start, once however many engines look, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from calve.engine.actions.start import start_instance
from calve.engine.catalog.rows import WorkflowRow, count_unfinished, find_locked
from calve.engine.identity import derived_uuid
from calve.engine.model.requests import InitiatorType, Started, StartRequest
from calve.engine.outbox import dump
from calve.engine.triggers.starting import record_failure, try_start
from calve.engine.triggers.tables.decision import Decision, TableLook, What
from calve.engine.triggers.tables.measuring import Measured
from calve.engine.triggers.tables.rows import TriggerRow, is_unchanged, read_active
from calve.engine.triggers.tables.waits import Waits
from calve.state.clock import to_iso
from calve.state.orchestration import incremental_triggers
from calve.workflow.definition.run_strategy import Rule


def note_decision(
    connection: Connection, row: TriggerRow, decision: Decision, tables: Sequence[TableLook], now_ms: int
) -> None:
    """Keep why nothing is started, unless somebody has started something meanwhile.

    An error is an event too, when it comes and when it changes.
    """
    text = decision_text(decision, tables)
    values = {"decision": text, "looked_at": now_ms, "waiting_since": decision.waiting_since_ms}
    changed = connection.execute(update(incremental_triggers).where(*is_unchanged(row)).values(values))
    error = next((found.error for found in tables if found.error is not None), None)
    if changed.rowcount and decision.what is What.ERROR and error is not None:
        before = {} if row.decision is None else json.loads(row.decision)
        if before.get("why") != decision.why:
            record_failure(connection, row.workflow_id, _initiator(row, tables), error, now_ms)


def fire(connection: Connection, row: TriggerRow, decision: Decision, found: Measured, now_ms: int) -> bool:
    """Start an instance, if nothing has happened to the trigger since it was looked at; else false."""
    # Always the workflow first, as a push does it, so that no two wait for each other.
    workflow = find_locked(connection, row.workflow_id)
    if workflow is None:
        return False
    if _would_be_stopped(connection, workflow):
        waits = Decision(What.WAITING, "an instance is under way, and the run strategy takes the first only")
        if decision_text(waits, found.tables) != row.decision:
            note_decision(connection, row, waits, found.tables, now_ms)
        return False
    locked = select(incremental_triggers.c.workflow_id).where(*is_unchanged(row)).with_for_update()
    if connection.execute(locked).first() is None:
        return False
    now = read_active(connection, row.key)
    if not now or now[0].status != row.status:
        return False
    request = StartRequest(
        workflow_id=row.workflow_id,
        initiator=_initiator(row, found.tables),
        request_id=derived_uuid(dump([*row.key, row.instance_id, row.started_at])),
    )
    started = try_start(connection, request, lambda asked: start_instance(connection, asked, now_ms), now_ms)
    connection.execute(
        update(incremental_triggers)
        .where(*is_unchanged(row))
        .values(_after(row, decision, found, started, now_ms))
    )
    return True


def decision_text(decision: Decision, tables: Sequence[TableLook]) -> str:
    """A decision with its numbers, as a column keeps it; the same one gives the same text."""
    return dump(
        {
            "what": decision.what.value,
            "why": decision.why,
            "next_look": to_iso(decision.look_at_ms) if decision.what is What.WAITING else None,
            "tables": [_table_json(found) for found in tables],
        }
    )


def _after(
    row: TriggerRow, decision: Decision, found: Measured, started: Started | None, now_ms: int
) -> dict[str, Any]:
    waits = Waits.from_text(row.waits).with_start(now_ms - _oldest_ms(row, found.tables, now_ms))
    return {
        "seen": found.seen.to_text(),
        "instance_id": None if started is None else started.instance_id,
        "started_at": now_ms,
        "waiting_since": None,
        "decision": decision_text(decision, found.tables),
        "looked_at": now_ms,
        "waits": waits.to_text(),
        "falls_behind": waits.fall_behind(row.trigger.patience_ms),
    }


def _oldest_ms(row: TriggerRow, tables: Sequence[TableLook], now_ms: int) -> int:
    """Since when the oldest of what a start is for has waited."""
    known = [row.waiting_since, *(found.oldest_ms for found in tables)]
    return min((at for at in known if at is not None), default=now_ms)


def _would_be_stopped(connection: Connection, workflow: WorkflowRow) -> bool:
    """Whether the run strategy would end an instance before it begins: then the change waits instead."""
    strategy = workflow.properties.run_strategy
    if strategy is None or strategy.rule is not Rule.FIRST_ONLY:
        return False
    return count_unfinished(connection, workflow.workflow_id, at_most=1) > 0


def _initiator(row: TriggerRow, tables: Sequence[TableLook]) -> dict[str, Any]:
    return {
        "type": InitiatorType.INCREMENTAL.value,
        "trigger_uuid": row.trigger_uuid,
        "tables": {found.table: found.head for found in tables},
    }


def _table_json(found: TableLook) -> dict[str, Any]:
    return {
        "table": found.table,
        "branch": found.branch,
        "consumer": found.consumer,
        "snapshot_id": found.head,
        "snapshots": found.waiting.snapshots,
        "files": found.waiting.files,
        "rows": found.waiting.rows,
        "bytes": found.waiting.bytes,
        "oldest": to_iso(found.oldest_ms),
        "error": None if found.error is None else found.error.to_json(),
    }
