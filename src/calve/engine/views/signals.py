"""Signals that were sent, the newest first."""

from __future__ import annotations

from sqlalchemy import Connection, select

from calve.engine.signals.model import Signal
from calve.engine.views.documents import Json
from calve.engine.views.newest import read_newest
from calve.engine.views.pages import PAGE_LIMIT
from calve.state.orchestration import signals


def newest_signals(
    connection: Connection, name: str | None, limit: int, cursor: str | None
) -> tuple[list[Signal], str | None]:
    """The newest signals of all names or of one, after `cursor`, and the cursor of those after them."""
    query = select(signals) if name is None else select(signals).where(signals.c.name == name)
    # Of one name they are in the index of their numbers, all together in that of their keys.
    key = signals.c.id if name is None else signals.c.seq_id
    rows, following = read_newest(connection, query, [key], limit, PAGE_LIMIT, cursor)
    return [Signal.from_row(row) for row in rows], following


def list_signals(
    connection: Connection, name: str | None = None, limit: int = 50, cursor: str | None = None
) -> Json:
    """A page of them, for programs."""
    found, following = newest_signals(connection, name, limit, cursor)
    return {"signals": [one.to_json() for one in found], "next_cursor": following}
