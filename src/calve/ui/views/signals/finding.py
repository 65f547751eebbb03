"""Signals that were sent, and who waits for some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, literal, select

from calve.engine.core.waiting import PENDING
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.signals.model import Signal
from calve.engine.views.documents import load
from calve.engine.views.signals import newest_signals
from calve.server.dependencies import Json
from calve.state.batches import in_batches
from calve.state.orchestration import runs, signal_subscriptions, steps
from calve.ui.addresses import step_address, workflow_address

PAGE_SIZE = 50
#: So many of those that wait are told.
_WAITING = 200
#: Steps are looked for in so many of the runs that go on.
_LIVE_RUNS = 2_000


def sent_signals(connection: Connection, name: str, cursor: int | None) -> tuple[list[Json], str | None]:
    """A page of signals, the newest first, and the cursor of the next one."""
    found, older = newest_signals(
        connection, name or None, PAGE_SIZE, None if cursor is None else str(cursor)
    )
    return [_signal(one) for one in found], older


def subscribers(connection: Connection, name: str) -> tuple[list[Json], bool]:
    """The workflows that signals start, by signal, and whether there are more of them."""
    query = select(signal_subscriptions.c.signal_name, signal_subscriptions.c.workflow_id).distinct()
    if name:
        query = query.where(signal_subscriptions.c.signal_name == name)
    query = query.order_by(signal_subscriptions.c.signal_name, signal_subscriptions.c.workflow_id)
    found = [
        {"signal": row.signal_name, "workflow_id": row.workflow_id, "href": workflow_address(row.workflow_id)}
        for row in connection.execute(query.limit(_WAITING + 1))
    ]
    return found[:_WAITING], len(found) > _WAITING


def waiting_steps(connection: Connection, name: str) -> tuple[list[Json], bool]:
    """The steps that wait for a signal, those of the oldest runs first, and whether there may be more."""
    # The status stands in the text of the statement, so that the partial index of that status serves it;
    # ordered by what has no index, so that the database has no reason to take another one.
    live = (
        select(runs.c.id)
        .where(runs.c.status == literal(RunStatus.IN_PROGRESS.value, literal_execute=True))
        .order_by(runs.c.created_at)
        .limit(_LIVE_RUNS + 1)
    )
    oldest = connection.execute(live).scalars().all()
    found: list[Json] = []
    for some in in_batches(oldest[:_LIVE_RUNS]):
        found += _waiting_in(connection, some, name)
        if len(found) > _WAITING:
            break
    return found[:_WAITING], len(found) > _WAITING or len(oldest) > _LIVE_RUNS


def _waiting_in(connection: Connection, some: Sequence[int], name: str) -> list[Json]:
    query: Select[Any] = (
        select(
            runs.c.workflow_id, runs.c.instance_id, steps.c.step_id, steps.c.created_at, steps.c.dependencies
        )
        .join(steps, steps.c.run == runs.c.id)
        .where(runs.c.id.in_(some), steps.c.status == StepStatus.WAITING_FOR_SIGNALS.value)
        .order_by(runs.c.created_at, runs.c.id, steps.c.step_id)
    )
    found = (line for row in connection.execute(query) for line in _waits(row))
    return [one for one in found if not name or one["signal"] == name]


def _waits(row: Row[Any]) -> list[Json]:
    return [
        {
            "signal": one["name"],
            "conditions": condition_texts(one),
            "workflow_id": row.workflow_id,
            "instance_id": row.instance_id,
            "step_id": row.step_id,
            "since": row.created_at,
            "href": step_address(row.workflow_id, row.instance_id, row.step_id),
        }
        for one in load(row.dependencies) or []
        if one["status"] == PENDING
    ]


def condition_texts(dependency: Json) -> list[str]:
    """What a step wants of a signal that it waits for."""
    return [f"{x['param']} {x['operator']} {x['value']}" for x in dependency.get("conditions", ())]


def _signal(one: Signal) -> Json:
    source = dict(one.source or {})
    href = None
    if {"workflow_id", "workflow_instance_id", "step_id"} <= set(source):
        href = step_address(source["workflow_id"], source["workflow_instance_id"], source["step_id"])
    return {**one.to_json(), "source": source or None, "source_href": href}
