"""Puts a crowd straight into the tables of a state, so that it looks as if it had come by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection, Table, insert

from benchmarks.settling import settle
from benchmarks.ui.history import counts_of, history_rows, order_of
from benchmarks.ui.scale import Scale
from benchmarks.ui.shapes import Flow, Row, flows, workflow_rows
from benchmarks.ui.surroundings import surrounding_rows
from calve.state.database import Database
from calve.state.schema import metadata

_BATCH = 10_000
_CACHE_KB = 600_000


def fill(database: Database, scale: Scale) -> list[Flow]:
    """Fill a new state; its workflows."""
    made = flows(scale)
    order = order_of(scale)
    with TemporaryDirectory(prefix="calve-shapes-") as folder, database.write() as connection:
        rows = chain(
            workflow_rows(Path(folder), made, counts_of(order, scale)),
            history_rows(made, order, scale),
            surrounding_rows(made, scale),
        )
        if database.is_sqlite:
            # Keys come in no order: without room for its indexes it would write each page many times.
            connection.exec_driver_sql(f"PRAGMA cache_size = -{_CACHE_KB}")
        _insert(connection, rows)
    settle(database)
    return made


def _insert(connection: Connection, rows: Iterable[tuple[Table, Row]]) -> None:
    waiting: dict[Table, list[Row]] = defaultdict(list)
    for number, (table, row) in enumerate(rows, start=1):
        waiting[table].append(row)
        if number % _BATCH == 0:
            _flush(connection, waiting)
    _flush(connection, waiting)


def _flush(connection: Connection, waiting: dict[Table, list[Row]]) -> None:
    # Sorted: rows come after those that they refer to.
    for table in metadata.sorted_tables:
        if rows := waiting.get(table):
            connection.execute(insert(table), rows)
    waiting.clear()
