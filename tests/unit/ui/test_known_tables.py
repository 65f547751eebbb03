"""The tables that are known without asking a catalog."""

from __future__ import annotations

from sqlalchemy import Connection

from calve.backfill.lineage.graph import Lineage
from calve.backfill.lineage.model import How, TableRead, WorkflowTables
from calve.engine.signals.sending import send
from calve.ui.views.tables.names import Known, known_tables
from support.engine_db import connection, engine_db

__all__ = ["connection", "engine_db"]
READER = WorkflowTables("w", 1, (TableRead("lake.db.read", ("a",), frozenset({How.SQL})),))


def test_tables_of_workflows_and_of_signals_are_known_once_and_in_order(
    connection: Connection,
) -> None:
    for name in ("table:lake.db.a", "valid_through:lake.db.B", "arrived", "zeta", "table:lake.db.read"):
        for number in range(3):
            send(connection, name, {"snapshot_id": number}, {}, None, None, 1)
    found = known_tables(connection, Lineage([READER]))
    assert found.names == ("lake.db.B", "lake.db.a", "lake.db.read")
    assert found.written == {"lake.db.a", "lake.db.read"}
    assert known_tables(connection, Lineage(())).names == found.names


def test_a_page_begins_after_a_name_whether_it_is_there_or_not() -> None:
    known = Known(("a.one", "b.two", "c.TWO"), frozenset())
    assert known.page("", "", 2) == (("a.one", "b.two"), True)
    assert known.page("", "b", 2) == (("b.two", "c.TWO"), False)
    assert known.page(" two ", "b.two", 2) == (["c.TWO"], False)
    assert known.page("none", "", 2) == ([], False)
