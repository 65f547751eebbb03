"""Sending signals, and reading them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, insert, select

from calve.engine.identity import derived_uuid
from calve.engine.outbox import dump, record_event, wake_for_signal, wake_for_tables
from calve.engine.signals.encoding import SignalValue, encode
from calve.engine.signals.limits import check_signal
from calve.engine.signals.model import Signal, SignalSent
from calve.errors import NotFoundError, UsageError
from calve.state.dialect import lock_name
from calve.state.orchestration import signal_params, signals
from calve.steps.table_signals import is_table_signal

LATEST = "latest"
_EVENT = "signal"


def send(
    connection: Connection,
    name: str,
    params: Mapping[str, SignalValue],
    payload: Mapping[str, Any],
    source: Mapping[str, Any] | None,
    request_id: str | None,
    now_ms: int,
) -> SignalSent:
    """Keep a signal, once: the same request id, or without one the same params, is the same signal.

    Signals of one name are sent one after the other, so that their numbers are in the order of their
    commits. Who sends several in one transaction sends them by name, or two may wait for each other.
    """
    check_signal(name, params, payload, request_id)
    lock_name(connection, _EVENT, name)
    uuid = _uuid(name, params, request_id)
    before = connection.execute(select(signals.c.seq_id).where(signals.c.uuid == uuid)).scalar()
    if before is not None:
        return SignalSent(name, before, duplicate=True)
    seq_id = latest_seq(connection, name) + 1
    row = {
        "name": name,
        "seq_id": seq_id,
        "uuid": uuid,
        "params": dump(dict(params)),
        "payload": dump(dict(payload)),
        "source": None if source is None else dump(dict(source)),
        "created_at": now_ms,
    }
    key: int = connection.execute(insert(signals).values(row).returning(signals.c.id)).scalar_one()
    if params:
        connection.execute(
            insert(signal_params),
            [
                {"name": name, "param": param, "value": encode(value), "seq_id": seq_id}
                for param, value in params.items()
            ],
        )
    record_event(
        connection,
        now_ms,
        _EVENT,
        "",
        {"name": name, "seq_id": seq_id, "params": dict(params), "source": source},
    )
    wake_for_signal(connection, key)
    if is_table_signal(name):
        wake_for_tables(connection)
    return SignalSent(name, seq_id, duplicate=False)


def latest_seq(connection: Connection, name: str) -> int:
    """The number of the newest signal of that name; 0 if there is none."""
    query = select(func.max(signals.c.seq_id)).where(signals.c.name == name)
    found: int | None = connection.execute(query).scalar()
    return found or 0


def get(connection: Connection, name: str, seq_id: int | str = LATEST) -> Signal:
    """A signal by its number, or the newest one of a name."""
    query = select(signals).where(signals.c.name == name)
    if str(seq_id).lower() != LATEST:
        query = query.where(signals.c.seq_id == _number(seq_id))
    found = connection.execute(query.order_by(signals.c.seq_id.desc()).limit(1)).first()
    if found is None:
        latest = latest_seq(connection, name)
        raise NotFoundError(
            "SIGNAL_NOT_FOUND",
            f"there is no signal '{name}'" + (f" with number {seq_id}" if latest else ""),
            f"the latest is {latest}" if latest else "check the name; it was never sent",
        )
    return Signal.from_row(found)


def _number(seq_id: int | str) -> int:
    text = str(seq_id)
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    raise UsageError("NUMBER_INVALID", f"found the signal number '{seq_id}'", f"use '{LATEST}' or a number")


def _uuid(name: str, params: Mapping[str, SignalValue], request_id: str | None) -> str:
    said: list[Any] = ["request", name, request_id]
    if request_id is None:
        said = ["params", name, sorted(params.items())]
    return derived_uuid(dump(said))
