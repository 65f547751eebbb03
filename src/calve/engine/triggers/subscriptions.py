"""Which triggers live: exactly those of the active version of a workflow, unless its properties rest them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from calve.engine.outbox import dump, wake_for_tables, wake_triggers
from calve.engine.signals.encoding import LONG_MAX, LONG_MIN
from calve.engine.triggers.checkpoints import Checkpoint, to_text
from calve.engine.triggers.schedule import delay_ms, next_firing, read_trigger, trigger_text, trigger_uuid
from calve.engine.triggers.tables.seen import Seen
from calve.errors import UsageError
from calve.state.orchestration import (
    incremental_triggers,
    signal_subscriptions,
    signal_triggers,
    signals,
    time_triggers,
)
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.signals import SignalTrigger


def sync_triggers(
    connection: Connection, workflow_id: str, active: Workflow | None, properties: Properties, now_ms: int
) -> None:
    """Bring the triggers of a workflow, whose row is locked, to what its active version says.

    A trigger that lived before goes on where it was. One that is new, or rested, begins now: it fires for
    no earlier time and for no earlier signal.
    """
    timed = {} if active is None else {trigger_text(trigger): trigger for trigger in active.time_triggers}
    _sync_time(connection, workflow_id, list(timed), not properties.time_trigger_disabled, now_ms)
    signalled = {} if active is None else {dump(found.to_json()): found for found in active.signal_triggers}
    _sync_signals(connection, workflow_id, signalled, not properties.signal_trigger_disabled)
    watching = [] if active is None else [dump(found.to_json()) for found in active.incremental_triggers]
    _sync_tables(connection, workflow_id, watching, not properties.incremental_trigger_disabled, now_ms)


def _sync_time(
    connection: Connection, workflow_id: str, texts: list[str], enabled: bool, now_ms: int
) -> None:
    wanted = {trigger_uuid(text): text for text in texts}
    _drop_others(connection, time_triggers, workflow_id, wanted)
    query = select(time_triggers.c.trigger_uuid, time_triggers.c.next_at)
    rows = connection.execute(query.where(time_triggers.c.workflow_id == workflow_id))
    former = {row.trigger_uuid: row.next_at for row in rows}
    if enabled and wanted.keys() - {uuid for uuid, next_at in former.items() if next_at is not None}:
        wake_triggers(connection)
    for uuid, text in wanted.items():
        values = {"watermark_at": now_ms, "next_at": None}
        if enabled:
            values["next_at"] = first_start(text, workflow_id, now_ms)
        if uuid not in former:
            key = {"workflow_id": workflow_id, "trigger_uuid": uuid, "definition": text}
            connection.execute(insert(time_triggers).values(**key, **values))
        elif (former[uuid] is None) == enabled:
            where = (time_triggers.c.workflow_id == workflow_id, time_triggers.c.trigger_uuid == uuid)
            connection.execute(update(time_triggers).where(*where).values(values))


def first_start(text: str, workflow_id: str, watermark_ms: int) -> int | None:
    """When the trigger with that text starts its workflow for the first time after the watermark."""
    trigger = read_trigger(text)
    delay = delay_ms(trigger, workflow_id)
    time = next_firing(trigger, watermark_ms)
    return None if time is None else time + delay


def _sync_signals(
    connection: Connection, workflow_id: str, triggers: Mapping[str, SignalTrigger], enabled: bool
) -> None:
    wanted = {trigger_uuid(text): (text, trigger) for text, trigger in triggers.items()}
    _drop_others(connection, signal_triggers, workflow_id, wanted)
    query = select(signal_triggers.c.trigger_uuid, signal_triggers.c.active)
    rows = connection.execute(query.where(signal_triggers.c.workflow_id == workflow_id))
    former = {row.trigger_uuid: row.active for row in rows}
    for uuid, (text, trigger) in wanted.items():
        _check_values(workflow_id, trigger)
        if former.get(uuid) == enabled:
            continue
        values = {"checkpoints": _latest(connection, list(trigger.definitions)), "active": enabled}
        if uuid in former:
            where = (signal_triggers.c.workflow_id == workflow_id, signal_triggers.c.trigger_uuid == uuid)
            connection.execute(update(signal_triggers).where(*where).values(values))
        else:
            key = {"workflow_id": workflow_id, "trigger_uuid": uuid, "definition": text}
            connection.execute(insert(signal_triggers).values(**key, **values))
    if not enabled:
        wanted = {}
    _sync_subscriptions(connection, workflow_id, {uuid: trigger for uuid, (_, trigger) in wanted.items()})


def _sync_tables(
    connection: Connection, workflow_id: str, texts: list[str], enabled: bool, now_ms: int
) -> None:
    wanted = {trigger_uuid(text): text for text in texts}
    table = incremental_triggers
    newest = table.c.started_at.desc()
    rows = connection.execute(
        select(table).where(table.c.workflow_id == workflow_id).order_by(newest.nulls_last())
    ).all()
    _drop_others(connection, table, workflow_id, wanted)
    former = {row.trigger_uuid: row.active for row in rows}
    # What a trigger in another wording has started is waited for by its successor.
    last = {"instance_id": rows[0].instance_id, "started_at": rows[0].started_at} if rows else {}
    for uuid, text in wanted.items():
        if former.get(uuid) == enabled:
            continue
        values = {"seen": Seen(now_ms).to_text(), "active": enabled}
        if uuid in former:
            where = (table.c.workflow_id == workflow_id, table.c.trigger_uuid == uuid)
            connection.execute(update(table).where(*where).values(values))
        else:
            key = {"workflow_id": workflow_id, "trigger_uuid": uuid, "definition": text}
            connection.execute(insert(table).values(**key, **values, **last))
    if wanted:
        # Also what goes on where it was may look at other tables in another version.
        wake_for_tables(connection)


def _sync_subscriptions(
    connection: Connection, workflow_id: str, triggers: Mapping[str, SignalTrigger]
) -> None:
    table = signal_subscriptions
    connection.execute(delete(table).where(table.c.workflow_id == workflow_id))
    rows = [
        {"signal_name": name, "workflow_id": workflow_id, "trigger_uuid": uuid}
        for uuid, trigger in triggers.items()
        for name in trigger.definitions
    ]
    if rows:
        connection.execute(insert(table), rows)


def _drop_others(
    connection: Connection, table: Table, workflow_id: str, wanted: Mapping[str, object]
) -> None:
    connection.execute(
        delete(table).where(table.c.workflow_id == workflow_id, table.c.trigger_uuid.not_in(list(wanted)))
    )


def _latest(connection: Connection, names: list[str]) -> str:
    """Checkpoints past every signal that there is."""
    query = select(signals.c.name, func.max(signals.c.seq_id).label("seq_id"))
    rows = connection.execute(query.where(signals.c.name.in_(names)).group_by(signals.c.name))
    found = {row.name: row.seq_id for row in rows}
    return to_text({name: Checkpoint(found.get(name, 0), found.get(name, 0)) for name in names})


def _check_values(workflow_id: str, trigger: SignalTrigger) -> None:
    for name, entry in trigger.definitions.items():
        for param, match in entry.match_params.items():
            if isinstance(match.value, int) and not LONG_MIN <= match.value <= LONG_MAX:
                raise UsageError(
                    "TRIGGER_INVALID",
                    f"a trigger of '{workflow_id}' compares '{param}' of signal '{name}' with {match.value}",
                    "write a number of 64 bits",
                )
