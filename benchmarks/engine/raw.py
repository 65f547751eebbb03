"""What the database itself gives: transactions of one UPDATE, one INSERT and one COMMIT."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

_TABLES = (
    "CREATE TABLE bench_state (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE bench_log (id INTEGER NOT NULL, value INTEGER NOT NULL, text TEXT NOT NULL)",
)
_TEXT = "x" * 100


def sqlite_commits(path: Path, seconds: float) -> float:
    """Commits per second of one writer to a new file, as durable as Calve's."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        for table in _TABLES:
            connection.execute(table)
        connection.execute("INSERT INTO bench_state VALUES (1, 0)")

        def commit(number: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE bench_state SET value = ? WHERE id = 1", (number,))
            connection.execute("INSERT INTO bench_log VALUES (1, ?, ?)", (number, _TEXT))
            connection.execute("COMMIT")

        return _repeat(commit, seconds) / seconds
    finally:
        connection.close()


def postgres_commits(url: str, seconds: float, writers: int = 1) -> float:
    """Commits per second of so many writers to a new database."""
    import psycopg

    address = plain_url(url)
    with psycopg.connect(address, autocommit=True) as connection:
        for table in _TABLES:
            connection.execute(table)
        for writer in range(writers):
            connection.execute("INSERT INTO bench_state VALUES (%s, 0)", (writer,))
    counts = [0] * writers

    def write(writer: int) -> None:
        with psycopg.connect(address) as connection:

            def commit(number: int) -> None:
                connection.execute("UPDATE bench_state SET value = %s WHERE id = %s", (number, writer))
                connection.execute("INSERT INTO bench_log VALUES (%s, %s, %s)", (writer, number, _TEXT))
                connection.commit()

            counts[writer] = _repeat(commit, seconds)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def plain_url(url: str) -> str:
    """The URL as the driver itself knows it."""
    return url.replace("postgresql+psycopg://", "postgresql://")


def _repeat(commit: Callable[[int], None], seconds: float) -> int:
    number = 0
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        number += 1
        commit(number)
    return number
