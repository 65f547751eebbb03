"""How processes tell each other that the state has changed.

Within a process by a call; on PostgreSQL by LISTEN and NOTIFY; on SQLite by looking at the number of the
last change, which costs a few microseconds. A nudge says that something changed, never what: who is woken
looks at the state.
"""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, make_url, text

from calve import logs
from calve.state.database import Database
from calve.state.dialect import count_own_writes

log = logs.get_logger(__name__)

CHANNEL = "calve"
SQLITE_LOOK_S = 0.05
#: While this process writes all the time, it looks for changes of others only once in so many looks.
UNSURE_LOOKS = 10
POSTGRES_RETRY_S = 1.0

#: Names this process in what it sends: it wakes itself by a call, and not once more over the network.
_PROCESS = uuid.uuid4().hex
_NOTIFY = text("SELECT pg_notify(:channel, :process)")

_listeners: dict[str, set[Callable[[], None]]] = {}
_watchers: dict[str, _Watcher] = {}
_guard = threading.Lock()


def announce(connection: Connection) -> None:
    """Within a transaction: wake the other processes when it commits."""
    if connection.dialect.name == "postgresql":
        connection.execute(_NOTIFY, {"channel": CHANNEL, "process": _PROCESS})


def nudge(database: Database, but_not: Callable[[], None] | None = None) -> None:
    """After a commit: wake all that wait in this process, but not who made the change."""
    with _guard:
        callbacks = tuple(_listeners.get(database.url, ()))
    for callback in callbacks:
        if callback != but_not:
            callback()


class Nudges:
    """Calls back when the state may have changed, by whomever. Thread-safe; end it with `close`."""

    def __init__(self, database: Database, callback: Callable[[], None]) -> None:
        self._url = database.url
        self._callback = callback
        with _guard:
            _listeners.setdefault(self._url, set()).add(callback)
            if self._url not in _watchers:
                _watchers[self._url] = _Watcher(database)

    def close(self) -> None:
        """No call comes after this one."""
        with _guard:
            listeners = _listeners[self._url]
            listeners.discard(self._callback)
            watcher = None if listeners else _watchers.pop(self._url, None)
        if watcher is not None:
            watcher.closing.set()


class _Watcher:
    """A thread that notices what other processes change: one for each database, however many listen."""

    def __init__(self, database: Database) -> None:
        self.closing = threading.Event()
        self._database = database
        watch = self._watch_sqlite if database.is_sqlite else self._watch_postgres
        threading.Thread(target=watch, name="calve-nudges", daemon=True).start()

    def _watch_sqlite(self) -> None:
        path = make_url(self._database.url).database
        connection: sqlite3.Connection | None = None
        watch = _ChangeWatch()
        while not self.closing.wait(SQLITE_LOOK_S):
            try:
                connection = connection or sqlite3.connect(str(path))
                version = connection.execute("PRAGMA data_version").fetchone()[0]
            except sqlite3.Error as error:
                log.debug("the state cannot be watched", error=str(error))
                continue
            if watch.has_news(version, count_own_writes(self._database.url)):
                nudge(self._database)
        if connection is not None:
            connection.close()

    def _watch_postgres(self) -> None:
        import psycopg

        url = self._database.url.replace("postgresql+psycopg://", "postgresql://")
        while not self.closing.is_set():
            try:
                with psycopg.connect(url, autocommit=True) as connection:
                    self._listen(connection)
            except psycopg.Error as error:
                log.debug("the state cannot be watched", error=str(error))
                self.closing.wait(POSTGRES_RETRY_S)

    def _listen(self, connection: Any) -> None:
        connection.execute(f"LISTEN {CHANNEL}")
        # What happened while nobody listened is not lost: one look for all of it.
        nudge(self._database)
        while not self.closing.is_set():
            for notice in connection.notifies(timeout=0.5, stop_after=1):
                if notice.payload != _PROCESS:
                    nudge(self._database)


class _ChangeWatch:
    """Tells the changes of others from those of this process, as far as one number can tell."""

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None
        self._unsure_looks = 0

    def has_news(self, version: int, own_writes: int) -> bool:
        """True if others may have changed something that nobody was woken for."""
        before, self._seen = self._seen, (version, own_writes)
        if before is None or version == before[0]:
            # Own changes may have hidden one of others: look once when they have ceased.
            unsure, self._unsure_looks = self._unsure_looks > 0, 0
            return unsure
        if own_writes == before[1]:
            return True
        self._unsure_looks += 1
        if self._unsure_looks < UNSURE_LOOKS:
            return False
        self._unsure_looks = 0
        return True


class Waiter:
    """Blocks until the state may have changed."""

    def __init__(self, database: Database) -> None:
        self._event = threading.Event()
        self._nudges = Nudges(database, self._event.set)

    def wait(self, timeout_s: float) -> bool:
        """Wait for a change since the last call; false if the time ran out."""
        changed = self._event.wait(timeout_s)
        self._event.clear()
        return changed

    def close(self) -> None:
        """Wait no more."""
        self._nudges.close()
