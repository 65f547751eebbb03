"""The newest write of each target table, on each kind of database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyiceberg.table import Table
from sqlalchemy import select, text

from calve.ledger import writes
from calve.ledger.ledger import Ledger
from calve.ledger.writes import forget_landed, note_begun, note_landed
from calve.state.schema import capture_writes, target_tables
from support.ledgers import append

pytestmark = pytest.mark.slow


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The moments at which writes land, the next one first."""
    moments = list(range(100, 200))
    monkeypatch.setattr(writes, "now_ms", lambda: moments.pop(0))
    return moments


def capture(ledger: Ledger, table: Table, consumer: str) -> str:
    append(table, 1)
    return ledger.capture("db.t", consumer=consumer).id


def land(ledger: Ledger, capture_id: str, statement: str, target: str) -> None:
    with ledger.database.write() as connection:
        note_begun(connection, capture_id, statement, target, "text")
        note_landed(connection, capture_id, statement, 1)


def newest(ledger: Ledger) -> dict[str, tuple[int, str]]:
    with ledger.database.read() as connection:
        rows = connection.execute(select(target_tables)).all()
    return {row.target: (row.landed_at, row.capture_id) for row in rows}


@pytest.mark.usefixtures("clock")
def test_it_is_the_one_that_landed_last(ledger: Ledger, table: Table) -> None:
    one, other = capture(ledger, table, "one"), capture(ledger, table, "other")
    land(ledger, one, "write/1", "lake.db.a")
    land(ledger, other, "write/1", "lake.db.a")
    land(ledger, one, "write/2", "lake.db.b")
    assert {x: found[1] for x, found in newest(ledger).items()} == {"lake.db.a": other, "lake.db.b": one}


@pytest.mark.usefixtures("clock")
def test_what_is_forgotten_leaves_the_one_before_it(ledger: Ledger, table: Table) -> None:
    one, other = capture(ledger, table, "one"), capture(ledger, table, "other")
    land(ledger, one, "write/1", "lake.db.a")
    before = newest(ledger)
    land(ledger, other, "write/1", "lake.db.a")
    land(ledger, other, "write/2", "lake.db.b")
    with ledger.database.write() as connection:
        forget_landed(connection, other, "write/")
    assert newest(ledger) == before


def test_of_many_that_land_at_once_the_newest_is_noted(ledger: Ledger, table: Table) -> None:
    ids = [capture(ledger, table, f"consumer_{at}") for at in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: land(ledger, one, "write/1", "lake.db.a"), ids))
    with ledger.database.read() as connection:
        landed = connection.execute(select(capture_writes.c.landed_at, capture_writes.c.capture_id)).all()
    assert newest(ledger) == {"lake.db.a": max((row.landed_at, row.capture_id) for row in landed)}


def test_a_state_of_before_is_filled_when_it_is_migrated(ledger: Ledger, table: Table) -> None:
    one, other = capture(ledger, table, "one"), capture(ledger, table, "other")
    land(ledger, one, "write/1", "lake.db.a")
    land(ledger, other, "write/1", "lake.db.b")
    expected = newest(ledger)
    with ledger.database.write() as connection:
        for index in ("ix_events_trigger", "ix_runs_failed_last"):
            connection.execute(text(f"DROP INDEX {index}"))
        connection.execute(text("DROP TABLE target_tables"))
        for column in ("waits", "falls_behind"):
            connection.execute(text(f"ALTER TABLE incremental_triggers DROP COLUMN {column}"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0005'"))
    ledger.database.close()
    assert newest(ledger) == expected
