"""Signals that were sent, and who waits for some."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, Select, literal, select

from calve.engine.core.waiting import PENDING
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.signals.model import Signal
from calve.engine.views.documents import load
from calve.server.dependencies import Json
from calve.state.orchestration import runs, signal_subscriptions, signals, steps
from calve.ui.views.runs.addresses import step_address, workflow_address

PAGE_SIZE = 50
_WAITING = 200
#: Steps are looked for in so many of the runs that go on.
_LIVE_RUNS = 500


def newest_signals(connection: Connection, name: str, cursor: int | None) -> tuple[list[Json], int | None]:
    """A page of signals, the newest first, and the cursor of the next one."""
    # Of one name they are in the index of their numbers, all together in that of their keys.
    key = signals.c.seq_id if name else signals.c.id
    query = select(signals).order_by(key.desc()).limit(PAGE_SIZE + 1)
    if name:
        query = query.where(signals.c.name == name)
    if cursor is not None:
        query = query.where(key < cursor)
    rows = connection.execute(query).all()
    shown = [Signal.from_row(row) for row in rows[:PAGE_SIZE]]
    older = None if len(rows) <= PAGE_SIZE else shown[-1].seq_id if name else shown[-1].id
    return [_signal(one) for one in shown], older


def subscribers(connection: Connection, name: str) -> list[Json]:
    """The workflows that signals start, by signal; at most so many."""
    query = select(signal_subscriptions.c.signal_name, signal_subscriptions.c.workflow_id).distinct()
    if name:
        query = query.where(signal_subscriptions.c.signal_name == name)
    query = query.order_by(signal_subscriptions.c.signal_name, signal_subscriptions.c.workflow_id)
    return [
        {"signal": row.signal_name, "workflow_id": row.workflow_id, "href": workflow_address(row.workflow_id)}
        for row in connection.execute(query.limit(_WAITING))
    ]


def waiting_steps(connection: Connection, name: str) -> list[Json]:
    """The steps of runs that wait for a signal, in the runs that began first; at most so many."""
    # In the text of the statement, so that the partial index of that status serves it.
    live = (
        select(runs.c.id)
        .where(runs.c.status == literal(RunStatus.IN_PROGRESS.value, literal_execute=True))
        .limit(_LIVE_RUNS)
    )
    query: Select[Any] = (
        select(
            runs.c.workflow_id, runs.c.instance_id, steps.c.step_id, steps.c.created_at, steps.c.dependencies
        )
        .join(steps, steps.c.run == runs.c.id)
        .where(runs.c.id.in_(live), steps.c.status == StepStatus.WAITING_FOR_SIGNALS.value)
        .limit(_WAITING)
    )
    found = [line for row in connection.execute(query) for line in _waits(row)]
    return [one for one in found if not name or one["signal"] == name]


def _waits(row: Row[Any]) -> list[Json]:
    return [
        {
            "signal": one["name"],
            "conditions": [
                f"{stated['param']} {stated['operator']} {stated['value']}" for stated in one["conditions"]
            ],
            "workflow_id": row.workflow_id,
            "instance_id": row.instance_id,
            "step_id": row.step_id,
            "since": row.created_at,
            "href": step_address(row.workflow_id, row.instance_id, row.step_id),
        }
        for one in load(row.dependencies) or []
        if one["status"] == PENDING
    ]


def _signal(one: Signal) -> Json:
    source = dict(one.source or {})
    href = None
    if {"workflow_id", "workflow_instance_id", "step_id"} <= set(source):
        href = step_address(source["workflow_id"], source["workflow_instance_id"], source["step_id"])
    return {**one.to_json(), "source": source or None, "source_href": href}
