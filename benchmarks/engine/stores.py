"""The two kinds of databases: each measurement gets a new one of its kind."""

from __future__ import annotations

import itertools
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.engine.raw import plain_url, postgres_commits, sqlite_commits

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"


class Store(ABC):
    """Makes databases in a folder."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count(1)

    def new_home(self) -> Path:
        """A folder of its own for a state, its logs and whatever else comes of it."""
        home = self.folder / f"{self.name.lower()}-{next(self._numbers)}"
        home.mkdir(parents=True)
        return home

    @abstractmethod
    def new_url(self, home: Path) -> str:
        """A new, empty database."""

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """What the durability of a commit depends on."""

    @abstractmethod
    def commits_per_s(self, seconds: float, writers: int = 1) -> float:
        """The raw rate of transactions with one UPDATE and one INSERT."""


class SqliteStore(Store):
    """Files with a write-ahead log."""

    name = SQLITE

    def new_url(self, home: Path) -> str:
        """A file in the home."""
        return f"sqlite:///{home}/state.db"

    def settings(self) -> dict[str, str]:
        """The pragmas of a connection to the state."""
        from calve.state.database import Database

        home = self.new_home()
        database = Database(self.new_url(home))
        with database.read() as connection:
            names = ("journal_mode", "synchronous")
            found = {name: str(connection.exec_driver_sql(f"PRAGMA {name}").scalar()) for name in names}
        database.close()
        return {"version": sqlite3.sqlite_version, **found}

    def commits_per_s(self, seconds: float, writers: int = 1) -> float:
        """As durable as the state: the log is synced with each commit."""
        return sqlite_commits(self.new_home() / "raw.db", seconds)


class PostgresStore(Store):
    """Databases of one server."""

    name = POSTGRESQL

    def __init__(self, folder: Path, server_url: str) -> None:
        super().__init__(folder)
        self._server_url = server_url

    def new_url(self, home: Path) -> str:
        """A database that is named after the home."""
        from support.postgres import create_database

        return create_database(self._server_url, home.name)

    def settings(self) -> dict[str, str]:
        """The settings of the server."""
        import psycopg

        names = ("server_version", "fsync", "synchronous_commit", "wal_sync_method")
        with psycopg.connect(plain_url(self._server_url)) as connection:
            rows = [connection.execute(f"SHOW {name}").fetchone() for name in names]
        return {name: str(row[0]) for name, row in zip(names, rows, strict=True) if row is not None}

    def commits_per_s(self, seconds: float, writers: int = 1) -> float:
        """As durable as the server is by default."""
        return postgres_commits(self.new_url(self.new_home()), seconds, writers)


@contextmanager
def open_store(name: str, folder: Path) -> Iterator[Store]:
    """A kind of database, ready to make some."""
    if name == SQLITE:
        yield SqliteStore(folder)
        return
    from support.postgres import postgres_server

    with postgres_server() as server_url:
        yield PostgresStore(folder, server_url)
