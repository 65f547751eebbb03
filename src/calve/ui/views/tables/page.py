"""The page of a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from fastapi import Query
from sqlalchemy import Connection, or_

from calve.engine.signals.watermarks import moments_of
from calve.errors import CalveError
from calve.lake import SourceTable
from calve.lake.commits import MAIN
from calve.ledger.lag import lags_in
from calve.ledger.listing import newest_captures
from calve.ledger.records import Position
from calve.ledger.rows import read_open, read_positions
from calve.server.dependencies import Json, Orchestrating
from calve.state.clock import now_ms
from calve.state.schema import chains
from calve.ui.addresses import table_address, with_query
from calve.ui.commands import command
from calve.ui.drawing.heat_map import Axis
from calve.ui.drawing.snapshot_line import draw_line
from calve.ui.pages import Pages
from calve.ui.views.lineage.reading import read_lineage
from calve.ui.views.tables.arrivals import SNAPSHOTS as HEAT_SNAPSHOTS
from calve.ui.views.tables.arrivals import show_arrivals
from calve.ui.views.tables.consumers import show_consumers, show_targets
from calve.ui.views.tables.freshness import fresh_tables
from calve.ui.views.tables.head import describe_table
from calve.ui.views.tables.history import show_captures
from calve.ui.views.tables.lanes import is_beside, lane_of, newest_line, snap_of
from calve.ui.views.tables.names import known_tables
from calve.ui.views.tables.opening import ledger_for, open_kept
from calve.ui.views.tables.snapshots import show_snapshots

pages = Pages()
LINE = 60
LANES = 12
LISTED = 50


# A name in backticks may have a slash.
@pages.page("/tables/{name:path}", "table.html")
def table_page(
    orchestrator: Orchestrating,
    name: str,
    before: Annotated[str, Query(description="Only captures before this one.", max_length=256)] = "",
    axis: Annotated[
        Axis | None, Query(description="Arrival on the heat map by time or by snapshot; by what tells more.")
    ] = None,
) -> Json:
    """A table: its snapshots and how far consumers have come, its late data, captures and lineage."""
    lake = ledger_for(orchestrator).lake
    full = str(lake.resolve(name))
    opened = open_kept(lake, [full])[full]
    table = opened if isinstance(opened, SourceTable) else None
    with orchestrator.database.read() as connection:
        lineage, unread = read_lineage(orchestrator, connection)
        if isinstance(opened, CalveError) and full not in known_tables(connection, lineage).names:
            raise opened
        positions = _positions(connection, full, table)
        held = read_open(connection, [x.id for x in positions if x.id is not None])
        lags = lags_in({x.table_name: opened for x in positions}, positions, held)
        known = {
            "valid_through": moments_of(connection, [full]).get(full),
            "freshness": fresh_tables(connection, lineage, [full], now_ms())[full].to_json(),
            "line": None if table is None else _line(connection, table, positions),
            "snapshots": [] if table is None else _snapshots(connection, table),
            **show_captures(connection, positions, before),
        }
    here = partial(with_query, table_address(full), axis=axis)
    return {
        "name": full,
        "error": None if table is not None else _problem(opened),
        "head": None if table is None else describe_table(table),
        "unread": unread,
        **known,
        # Manifests are read after the state is let go of.
        "late": None if table is None else _late(table, axis),
        "consumers": show_consumers(full, lags, lineage),
        "writers": list(lineage.writers(full)),
        "readers": list(lineage.readers(full)),
        "targets": show_targets(full, lineage),
        "before": before,
        "newer_page": here() if before else None,
        "older_page": here(before=known["older"]) if known["older"] else None,
        "command": command("lag", "--table", full),
    }


def _problem(error: SourceTable | CalveError) -> Json:
    assert isinstance(error, CalveError)
    return error.to_json()


def _positions(connection: Connection, name: str, table: SourceTable | None) -> list[Position]:
    """Those of the table of this name, also under a name that it had before."""
    named = chains.c.table_name == name
    here = named if table is None else or_(named, chains.c.table_uuid == table.uuid)
    return read_positions(connection, chains.c.known, here)


def _line(connection: Connection, table: SourceTable, positions: Sequence[Position]) -> Json:
    """The newest snapshots of main with a lane for each consumer there."""
    line = newest_line(table.metadata, LINE)
    on_main = [x for x in positions if x.branch == MAIN and x.table_uuid == table.uuid]
    drawn = on_main[:LANES]
    captures = newest_captures(connection, drawn, LINE)
    lanes = [lane_of(position, line, captures) for position in drawn]
    return {
        "picture": draw_line([snap_of(x) for x in line.snapshots], lanes).to_json(),
        "is_cut": line.is_cut,
        "not_drawn": len(on_main) - len(drawn),
        "beside": [x.consumer for x in drawn if is_beside(x.chain, line, table.metadata)],
        "empty": not line.snapshots,
    }


def _late(table: SourceTable, axis: Axis | None) -> Json:
    line = newest_line(table.metadata, HEAT_SNAPSHOTS)
    return show_arrivals(table, line.snapshots, line.is_cut, axis)


def _snapshots(connection: Connection, table: SourceTable) -> list[Json]:
    return show_snapshots(connection, newest_line(table.metadata, LISTED).snapshots[::-1])
