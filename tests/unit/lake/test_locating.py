"""Where many tables are, told by one question to each catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from calve.errors import CalveError
from calve.lake.catalogs import Lake
from calve.lake.locating import Located, locate_tables, open_tables
from calve.lake.tables import SourceTable
from calve.settings import EMBEDDED_PROPERTIES, Settings
from support.ledgers import SCHEMA


@pytest.fixture
def lake(home: Path) -> Lake:
    """A SQL catalog, one that answers for one table at a time, and one that is not there."""
    catalogs = {
        "lake": dict(EMBEDDED_PROPERTIES),
        "mem": {"type": "in-memory", "uri": f"sqlite:///{home}/mem.db", "warehouse": f"file://{home}/mem"},
        "gone": {"type": "sql", "uri": "sqlite:////nowhere/at/all.db"},
    }
    return Lake(Settings.model_validate({"home": home, "catalogs": catalogs, "default_catalog": "lake"}))


def make(lake: Lake, catalog: str, *tables: str) -> None:
    opened = lake.catalog(catalog)
    opened.create_namespace_if_not_exists("db")
    opened.create_namespace_if_not_exists("other")
    for table in tables:
        opened.create_table(table, schema=SCHEMA)


@pytest.fixture
def statements(lake: Lake) -> Iterator[list[str]]:
    """The statements that the SQL catalog is asked."""
    found: list[str] = []
    engine: Any = lake.catalog("lake").engine  # type: ignore[attr-defined]

    def note(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        found.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield found
    event.remove(engine, "before_cursor_execute", note)


def code(found: object) -> str:
    assert isinstance(found, CalveError)
    return found.code


def test_one_statement_serves_all_tables_of_a_catalog(lake: Lake, statements: list[str]) -> None:
    tables = [f"db.t{number}" for number in range(40)]
    make(lake, "lake", *tables, "other.t1")
    statements.clear()
    names = [lake.resolve(table) for table in (*tables, "other.t1", "other.t2", "db.t1")]
    found = locate_tables(lake, names)
    assert len(statements) == 1
    assert code(found.pop(lake.resolve("other.t2"))) == "TABLE_NOT_FOUND"  # type: ignore[attr-defined]
    assert len(found) == 41
    assert all(isinstance(place, Located) for place in found.values())
    place = found[lake.resolve("other.t1")]
    assert isinstance(place, Located)
    opened = place.open()
    assert isinstance(opened, SourceTable)
    assert str(opened.name) == "lake.other.t1"


def test_catalogs_that_answer_for_one_table_are_asked_for_each(lake: Lake) -> None:
    make(lake, "mem", "db.a", "db.b")
    names = [lake.resolve(name) for name in ("mem.db.a", "mem.db.b", "mem.db.c")]
    *there, absent = locate_tables(lake, names).values()
    assert [isinstance(place, Located) for place in there] == [True, True]
    assert code(absent) == "TABLE_NOT_FOUND"


@pytest.mark.slow
def test_what_cannot_be_told_hides_nothing_else(lake: Lake) -> None:
    make(lake, "lake", "db.t")
    found = open_tables(lake, ["db.t", "gone.db.t", "nowhere.db.t", "t", "db.absent"])
    assert not isinstance(found["db.t"], CalveError)
    assert {name: code(found[name]) for name in found if name != "db.t"} == {
        "gone.db.t": "CATALOG_UNREACHABLE",
        "nowhere.db.t": "CATALOG_UNKNOWN",
        "t": "TABLE_NAME_INVALID",
        "db.absent": "TABLE_NOT_FOUND",
    }
