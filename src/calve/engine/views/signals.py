"""Signals that were sent, the newest first."""

from __future__ import annotations

from sqlalchemy import Connection, select

from calve.engine.signals.model import Signal
from calve.engine.views.documents import Json
from calve.engine.views.newest import read_newest
from calve.engine.views.pages import PAGE_LIMIT
from calve.state.orchestration import signals


def list_signals(
    connection: Connection, name: str | None = None, limit: int = 50, cursor: str | None = None
) -> Json:
    """The newest signals of all names or of one, after `cursor`."""
    query = select(signals) if name is None else select(signals).where(signals.c.name == name)
    key = signals.c.id if name is None else signals.c.seq_id
    rows, following = read_newest(connection, query, [key], limit, PAGE_LIMIT, cursor)
    return {"signals": [Signal.from_row(row).to_json() for row in rows], "next_cursor": following}
