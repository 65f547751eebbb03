"""Brings a state's tables to the version this program speaks. Imports Alembic only when it must."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from calve.errors import UsageError
from calve.state.dialect import as_writer, lock_migrations
from calve.state.schema import SCHEMA_VERSION

_MIGRATIONS = Path(__file__).parent / "migrations"


def ensure_schema(engine: Engine) -> None:
    """Migrate if needed; of several processes that find an old state, one migrates it."""
    with engine.connect() as connection:
        if _version(connection) == SCHEMA_VERSION:
            return
    with as_writer(engine.connect()) as connection, connection.begin():
        lock_migrations(connection)
        found = _version(connection)
        if found != SCHEMA_VERSION:
            _migrate(connection, found)


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(connection: Connection, found: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise UsageError(
            "STATE_TOO_NEW",
            f"the state database has version {found}; this Calve knows up to {SCHEMA_VERSION}",
            "upgrade Calve, or set `state_url` to another database",
        )
    command.upgrade(config, "head")
