"""The state database: migrated by itself, once, on both kinds; and honest when it cannot be used."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, inspect, text

from calve.errors import UnreachableError, UsageError
from calve.ledger.rows import read_open, read_positions
from calve.state import backfill, migrate, orchestration
from calve.state.clock import to_iso
from calve.state.database import Database
from calve.state.schema import SCHEMA_VERSION, chains, metadata

pytestmark = pytest.mark.slow


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, home: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{home}/deep/state.db"
    found: str = request.getfixturevalue("postgres_url")
    return found


def test_the_migrations_make_the_tables_that_the_code_speaks_of(url: str) -> None:
    database = Database(url)
    with database.read() as connection:
        context = MigrationContext.configure(connection)
        differences = [
            change
            for change in compare_metadata(context, metadata)
            if "index" not in change[0] and "constraint" not in change[0]
        ]
        assert differences == []
        assert {orchestration.runs.name, backfill.backfills.name} <= set(metadata.tables)
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version"}
    database.close()


def test_the_newest_migration_is_the_one_the_code_expects() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate._MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == SCHEMA_VERSION


def test_many_that_open_a_new_state_at_once_migrate_it_once(url: str) -> None:
    def open_it(_: int) -> int:
        database = Database(url)
        with database.write() as connection:
            found: int = connection.execute(text("SELECT count(*) FROM alembic_version")).scalar_one()
        database.close()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(open_it, range(8))) == [1] * 8


def test_opening_a_migrated_state_does_not_load_alembic(home: Path) -> None:
    url = f"sqlite:///{home}/state.db"
    program = (
        "import sys\n"
        "from calve.state.database import Database\n"
        f"with Database({url!r}).read(): pass\n"
        "print('alembic' in sys.modules)"
    )
    answers = [
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert answers == ["True", "False"]


def _insert_and_raise(connection: Connection, row: dict[str, object]) -> None:
    connection.execute(chains.insert().values(row))
    raise ZeroDivisionError


def test_a_transaction_that_raises_changes_nothing(url: str) -> None:
    database = Database(url)
    row: dict[str, object] = {
        "consumer": "c", "table_uuid": "u", "branch": "main", "table_name": "t", "version": 1, "known": True,
        "links": "[]", "updated_at": 0,
    }  # fmt: skip
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        _insert_and_raise(connection, row)
    with database.read() as connection:
        assert connection.execute(chains.select()).all() == []
    database.close()


def test_a_state_of_a_newer_calve_is_refused(url: str) -> None:
    database = Database(url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(UsageError) as error, Database(url).read():
        pass
    assert error.value.code == "STATE_TOO_NEW"


@pytest.mark.parametrize("wrong", ["", "no url", "mysql://host/db", "sqlite://", "sqlite:///:memory:"])
def test_a_url_of_no_state_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError) as error, Database(wrong).read():
        pass
    assert error.value.code == "STATE_URL_INVALID"


def test_a_state_that_does_not_answer_is_said_to_be_unreachable(tmp_path: Path) -> None:
    garbage = tmp_path / "state.db"
    garbage.write_bytes(b"this is not a database, it is a text" * 100)
    for url in (f"sqlite:///{garbage}", "postgresql://nobody:secret@127.0.0.1:1/none"):
        with pytest.raises(UnreachableError) as error, Database(url).read():
            pass
        assert error.value.code == "STATE_UNREACHABLE"
        assert "secret" not in error.value.message
        assert "\n" not in error.value.message


def test_a_place_that_cannot_hold_a_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as error, Database(f"sqlite:///{tmp_path}/file/state.db").read():
        pass
    assert error.value.code == "STATE_NOT_WRITABLE"


def test_finding_open_captures_costs_nothing_for_finished_ones(home: Path) -> None:
    """Each step of the search is narrowed by an index that finished captures are not in the way of."""
    database = Database(f"sqlite:///{home}/state.db")
    seen: list[str] = []
    with database.read() as connection:
        read_positions(connection)
        event.listen(connection, "before_cursor_execute", lambda *x: seen.append(_explain(x[1], x[2], x[3])))
        read_open(connection, [1, 2])
    database.close()
    (plan,) = [x for x in seen if "captures" in x]
    assert "ix_captures_open (consumer=?)" in plan
    assert "(chain_id=? AND capture_id=?)" in plan or "(capture_id=?)" in plan


def _explain(cursor: Any, statement: str, parameters: Any) -> str:
    steps = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
    return "; ".join(step[-1] for step in steps)


def test_moments_are_shown_in_utc() -> None:
    assert to_iso(0) == "1970-01-01T00:00:00.000Z"
    assert to_iso(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert to_iso(None) is None
