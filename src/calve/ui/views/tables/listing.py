"""The list of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Query

from calve.engine.signals.watermarks import moments_of
from calve.errors import CalveError
from calve.lake import SourceTable
from calve.ledger.lag import ConsumerLag, lags_in
from calve.ledger.records import CaptureRecord, Position
from calve.ledger.rows import read_open, read_positions
from calve.server.dependencies import Json, Orchestrating
from calve.state.clock import now_ms
from calve.state.schema import chains
from calve.ui.addresses import with_query
from calve.ui.pages import Pages
from calve.ui.views.lineage.reading import read_lineage
from calve.ui.views.tables.freshness import fresh_tables
from calve.ui.views.tables.head import last_change
from calve.ui.views.tables.names import known_tables
from calve.ui.views.tables.opening import ledger_for, open_kept

pages = Pages()
PAGE = 50


@pages.page("/tables", "tables.html")
def tables(
    orchestrator: Orchestrating,
    search: Annotated[str, Query(description="Only tables whose names contain this.", max_length=512)] = "",
    after: Annotated[str, Query(description="Only names after this one.", max_length=2048)] = "",
) -> Json:
    """Source and target tables: how fresh, how many consumers, how far these are behind."""
    now = now_ms()
    with orchestrator.database.read() as connection:
        lineage, unread = read_lineage(orchestrator, connection)
        known = known_tables(connection, lineage)
        names, more = known.page(search, after, PAGE)
        fresh = fresh_tables(connection, lineage, names, now)
        complete = moments_of(connection, names)
        positions = read_positions(connection, chains.c.known, chains.c.table_name.in_(names))
        held = read_open(connection, [x.id for x in positions if x.id is not None])
    opened = open_kept(ledger_for(orchestrator).lake, names)
    lags = _lags(opened, positions, held)
    return {
        "tables": [
            {
                "name": name,
                "is_source": bool(lineage.readers(name)) or name in lags,
                "is_target": bool(lineage.writers(name)) or name in known.written,
                "consumers": len({lag.position.consumer for lag in lags.get(name, ())}),
                "lag": _furthest(lags.get(name, [])),
                "freshness": fresh[name].to_json(),
                "valid_through": complete.get(name),
                **_state(opened[name]),
            }
            for name in names
        ],
        "unread": unread,
        "search": search,
        "after": after,
        "total": len(known.names),
        "next": with_query("/tables", search=search, after=names[-1]) if more else None,
        "command": "calve lag",
    }


def _lags(
    opened: Mapping[str, SourceTable | CalveError], positions: list[Position], held: list[CaptureRecord]
) -> dict[str, list[ConsumerLag]]:
    found: dict[str, list[ConsumerLag]] = {}
    for lag in lags_in(opened, positions, held):
        found.setdefault(lag.position.table_name, []).append(lag)
    return found


def _furthest(lags: list[ConsumerLag]) -> Json | None:
    """What the consumer that is furthest behind has not processed; None where there is none."""
    shown = [lag.to_json() for lag in lags]
    return max(shown, key=lambda one: (one["seconds"] or 0, one["snapshots"] or 0), default=None)


def _state(table: SourceTable | CalveError) -> Json:
    if isinstance(table, CalveError):
        is_missing = table.code == "TABLE_NOT_FOUND"
        return {"changed_at": None, "rows": None, "error": table.message, "is_missing": is_missing}
    return {**last_change(table), "error": None, "is_missing": False}
