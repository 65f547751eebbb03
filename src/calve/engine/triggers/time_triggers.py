"""Firing what the time is due for.

A watermark says up to which time a trigger has fired; it only grows. So a clock that jumps back fires nothing
again, and one that jumps forward, or an engine that was away, fires all that was missed.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from calve.engine.catalog.rows import try_lock_workflow
from calve.engine.identity import derived_uuid
from calve.engine.model.requests import InitiatorType, StartRequest
from calve.engine.triggers.schedule import delay_ms, due_firings, next_firing, read_trigger, timezone_of
from calve.engine.triggers.starting import Start, try_start
from calve.state.orchestration import time_triggers
from calve.workflow.definition.triggers import TimeTrigger
from calve.workflow.params import ParamDefinition, ParamSource, ParamType

#: How many instances one call starts; what is left stays due.
FIRINGS = 100
RUN_TS = "RUN_TS"


def next_due(connection: Connection) -> int | None:
    """When the next trigger is due; None if none will ever be."""
    query = select(func.min(time_triggers.c.next_at)).where(time_triggers.c.next_at.is_not(None))
    return connection.execute(query).scalar()


def fire_due(connection: Connection, now_ms: int, start: Start, limit: int = FIRINGS) -> int | None:
    """Start what is due, the oldest first, at most `limit` instances; gives when the next trigger is due.

    With more due than `limit`, every trigger gets its share. A workflow that another transaction has
    locked stays due.
    """
    query = (
        select(time_triggers.c.workflow_id, time_triggers.c.trigger_uuid)
        .where(time_triggers.c.next_at.is_not(None), time_triggers.c.next_at <= now_ms)
        .order_by(time_triggers.c.next_at)
        .limit(limit)
    )
    due = connection.execute(query).all()
    share = max(1, limit // max(1, len(due)))
    for workflow_id, uuid in due:
        if try_lock_workflow(connection, workflow_id) is not None:
            _fire(connection, workflow_id, uuid, now_ms, start, share)
    return next_due(connection)


def _fire(connection: Connection, workflow_id: str, uuid: str, now_ms: int, start: Start, limit: int) -> None:
    where = (time_triggers.c.workflow_id == workflow_id, time_triggers.c.trigger_uuid == uuid)
    # Read again under the lock: another engine may have fired it, or a push may have taken it away.
    row: Row[Any] | None = connection.execute(select(time_triggers).where(*where)).first()
    if row is None or row.next_at is None or row.next_at > now_ms:
        return
    trigger = read_trigger(row.definition)
    delay = delay_ms(trigger, workflow_id)
    times = due_firings(trigger, row.watermark_at, now_ms, limit, delay)
    for time in times:
        try_start(connection, _request(workflow_id, uuid, trigger, time), start, now_ms)
    watermark = times[-1] if times else row.watermark_at
    upcoming = next_firing(trigger, watermark)
    next_at = None if upcoming is None else upcoming + delay
    connection.execute(update(time_triggers).where(*where).values(watermark_at=watermark, next_at=next_at))


def _request(workflow_id: str, uuid: str, trigger: TimeTrigger, time: int) -> StartRequest:
    return StartRequest(
        workflow_id=workflow_id,
        params={RUN_TS: ParamDefinition(name=RUN_TS, type=ParamType.LONG, value=time)},
        initiator={
            "type": InitiatorType.TIME.value,
            "trigger_uuid": uuid,
            "timezone": timezone_of(trigger),
            "trigger_time": time,
        },
        # The same firing is the same request, however often it is asked for.
        request_id=derived_uuid(f"{workflow_id}:{uuid}:{time // 1000}"),
        source=ParamSource.TIME_TRIGGER,
    )
