"""The one place that knows which database it is talking to."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, OperationalError

from calve.errors import UnreachableError, UsageError

BUSY_TIMEOUT_MS = 30_000
_WRITER = "calve_writer"
_write_locks: dict[str, threading.RLock] = {}
_write_counts: dict[str, int] = {}
_MIGRATION_LOCK = 0x63616C7665  # any number that no other program takes for an advisory lock


def make_engine(url: str) -> Engine:
    """An engine for a SQLite file or a PostgreSQL database; nothing is connected yet."""
    parsed = _parse(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    return _postgres(parsed)


def as_writer(connection: Connection) -> Connection:
    """The connection, set up so that its next transaction takes the write lock at its start."""
    return connection.execution_options(**{_WRITER: True})


def lock_migrations(connection: Connection) -> None:
    """Let one process at a time migrate, until the transaction ends."""
    # On SQLite the writer's transaction, which the caller is in, is that lock already.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})


def lock_name(connection: Connection, kind: str, name: str) -> None:
    """Let one transaction at a time work on what has that name, until it ends; it may have no row yet."""
    # On SQLite the writer's transaction, which the caller is in, is that lock already.
    if connection.dialect.name == "postgresql":
        digest = hashlib.blake2b(f"{kind}:{name}".encode(), digest_size=8).digest()
        key = int.from_bytes(digest, signed=True)
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


@contextmanager
def writing(engine: Engine) -> Iterator[None]:
    """Let one thread of this process at a time write to a SQLite file.

    Waiting threads are handed the turn at once; SQLite's own waiting sleeps between looks.
    """
    if engine.dialect.name != "sqlite":
        yield
        return
    url = engine.url.render_as_string(hide_password=False)
    with _write_locks.setdefault(url, threading.RLock()):
        yield
        _write_counts[url] = _write_counts.get(url, 0) + 1


def count_own_writes(url: str) -> int:
    """How often this process has written to a SQLite file: it tells own changes from those of others."""
    return _write_counts.get(url, 0)


@contextmanager
def reachable(engine: Engine) -> Iterator[None]:
    """Turn a database that does not answer, or is not one, into an error with a remedy."""
    try:
        yield
    except OperationalError as error:
        raise _unreachable(engine, error) from error
    except DatabaseError as error:
        if "file is not a database" in str(error.orig):
            raise _unreachable(engine, error) from error
        raise


def _unreachable(engine: Engine, error: DatabaseError) -> UnreachableError:
    reason = " ".join(str(error.orig).split())
    return UnreachableError(
        "STATE_UNREACHABLE",
        f"the state database {engine.url.render_as_string()} does not answer: {reason}",
        "start it, or set `state_url` in calve.toml to one that runs",
    )


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise _bad_url("it cannot be read as a URL") from None
    backend = parsed.get_backend_name()
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise _bad_url("a SQLite state must be a file")
    if backend in ("postgres", "postgresql"):
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise _bad_url(f"found {backend}, expected sqlite or postgresql")
    return parsed


def _bad_url(reason: str) -> UsageError:
    return UsageError(
        "STATE_URL_INVALID",
        f"the state database cannot be used: {reason}",
        "set `state_url` to sqlite:///path/state.db or postgresql://user@host/database",
    )


def _postgres(url: URL) -> Engine:
    # A process that was stopped in the middle of a transaction must not hold its locks for ever.
    patience = {"options": f"-c idle_in_transaction_session_timeout={BUSY_TIMEOUT_MS}"}
    try:
        stated = {} if "options" in url.query else patience
        return create_engine(url, pool_pre_ping=True, connect_args=stated)
    except (ImportError, NoSuchModuleError):
        raise UsageError(
            "EXTRA_MISSING",
            "a PostgreSQL state needs the psycopg driver, which is not installed",
            "pip install 'calve[postgres]'",
        ) from None


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "do_connect", _make_folder)
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_folder(dialect: Any, record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
    folder = Path(arguments[0]).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "STATE_NOT_WRITABLE",
            f"the folder {folder} of the state database cannot be made: {error.strerror}",
            "set `state_url` or CALVE_HOME to a place that you may write to",
        ) from error


def _configure_sqlite(connection: Any, record: Any) -> None:
    # The driver must not begin transactions by itself: it would begin them without the lock.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA foreign_keys = ON")
    _use_wal(connection)


def _use_wal(connection: Any) -> None:
    """Switch to write-ahead logging; the busy timeout does not cover this statement."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except connection.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    writer = connection.get_execution_options().get(_WRITER, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writer else "BEGIN")
