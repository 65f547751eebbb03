"""The state database: opened on first use, migrated by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from sqlalchemy import Connection, Engine

from calve.state.dialect import as_writer, make_engine, reachable, writing
from calve.state.migrate import ensure_schema


class Database:
    """Transactions on the state. Making one touches nothing; the first transaction opens it."""

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def url(self) -> str:
        """Where the database is."""
        return self._url

    @property
    def is_sqlite(self) -> bool:
        """True for a file on this machine, false for a server."""
        return self._url.startswith("sqlite")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and changes nothing."""
        engine = self._engine
        with reachable(engine), engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that may change the database; rolled back if the block raises."""
        engine = self._engine
        with (
            writing(engine),
            reachable(engine),
            as_writer(engine.connect()) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        """Give back all connections."""
        if "_engine" in self.__dict__:
            self._engine.dispose()
            del self.__dict__["_engine"]

    @cached_property
    def _engine(self) -> Engine:
        engine = make_engine(self._url)
        with reachable(engine):
            ensure_schema(engine)
        return engine
