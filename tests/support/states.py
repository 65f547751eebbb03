"""States that are migrated already: a copy costs less than the migrations do."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from functools import cache
from pathlib import Path

from calve.state.database import Database
from support.postgres import create_database

_numbers = itertools.count(1)


def place_state(home: Path) -> str:
    """Put an empty, migrated state into a home; its URL."""
    home.mkdir(parents=True, exist_ok=True)
    file = home / "state.db"
    shutil.copyfile(_sqlite_template(), file)
    return f"sqlite:///{file}"


def place_postgres_state(server_url: str) -> str:
    """A new database on a server, empty and migrated; its URL."""
    return create_database(server_url, f"state{next(_numbers)}", _postgres_template(server_url))


@cache
def _sqlite_template() -> Path:
    file = Path(tempfile.mkdtemp(prefix="calve-state-"), "state.db")
    _migrate(f"sqlite:///{file}")
    return file


@cache
def _postgres_template(server_url: str) -> str:
    name = "calve_template"
    _migrate(create_database(server_url, name))
    return name


def _migrate(url: str) -> None:
    database = Database(url)
    with database.write():
        pass
    database.close()
