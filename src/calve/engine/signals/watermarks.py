"""Up to which time a table is complete: the greatest that was ever said, in signals of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, select

from calve.engine.signals.encoding import encode
from calve.engine.signals.model import Signal
from calve.engine.signals.sending import get, send
from calve.errors import NotFoundError
from calve.state.clock import to_iso
from calve.state.orchestration import signal_params, signals
from calve.steps.table_signals import FIRST_MS, LAST_MS, VALID_THROUGH, to_epoch_ms, valid_through_signal

# Values are kept so that their order is that of the numbers; whatever is no moment lies outside of these.
_IS_MOMENT = (signal_params.c.param == VALID_THROUGH) & signal_params.c.value.between(
    encode(FIRST_MS), encode(LAST_MS)
)
# Each name has a first signal, by which it is found without reading the others.
_first = signals.alias("first")
_greatest = (
    select(signal_params.c.seq_id)
    .where(signal_params.c.name == _first.c.name, _IS_MOMENT)
    .order_by(signal_params.c.value.desc())
    .limit(1)
    .correlate(_first)
    .scalar_subquery()
)
_GREATEST = (
    select(signals)
    .where(signals.c.name == _first.c.name, signals.c.seq_id == _greatest)
    .where(_first.c.name.in_(bindparam("names", expanding=True)), _first.c.seq_id == 1)
)


def publish(connection: Connection, table: str, value: Any, now_ms: int) -> None:
    """Say that a table, given by its full name, is complete up to a moment; saying it again is no harm."""
    params = {VALID_THROUGH: to_epoch_ms(value)}
    send(connection, valid_through_signal(table), params, {}, None, None, now_ms)


def describe(connection: Connection, table: str) -> dict[str, Any]:
    """Up to which moment a table is complete. Raises VALID_THROUGH_UNKNOWN if nobody has said it."""
    name = valid_through_signal(table)
    greatest = (
        select(signal_params.c.seq_id)
        .where(signal_params.c.name == name, _IS_MOMENT)
        .order_by(signal_params.c.value.desc())
        .limit(1)
    )
    seq_id = connection.execute(greatest).scalar()
    if seq_id is None:
        raise NotFoundError(
            "VALID_THROUGH_UNKNOWN",
            f"nobody has said up to which time {table} is complete",
            f"`calve valid-through {table} TIMESTAMP` says it, or an IpCommit step with valid_through",
        )
    signal = get(connection, name, seq_id)
    moment = int(signal.params[VALID_THROUGH])
    return {
        "table": table,
        VALID_THROUGH: moment,
        "valid_through_time": to_iso(moment),
        "published_at": signal.created_at,
    }


def moments_of(connection: Connection, tables: Sequence[str]) -> dict[str, int]:
    """Up to which moment tables are complete, in milliseconds; those of which nobody has said it are absent.

    A look or two into an index for each table, however often it was said.
    """
    by_signal = {valid_through_signal(table): table for table in tables}
    rows = connection.execute(_GREATEST, {"names": list(by_signal)})
    said = (Signal.from_row(row) for row in rows)
    return {by_signal[signal.name]: int(signal.params[VALID_THROUGH]) for signal in said}
