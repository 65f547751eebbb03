"""`calve server`, `calve worker` and `calve dev`: the processes that stay."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calve.cli import output
from calve.errors import UnreachableError
from calve.settings import ApiSettings, Settings, load_settings

if TYPE_CHECKING:
    from calve.server.serving import Serving
    from calve.state.database import Database

_LOOK_S = 1.0

HostOption = Annotated[
    str | None, typer.Option(help="Where to listen.", show_default="api.host, or 127.0.0.1")
]
PortOption = Annotated[
    int | None, typer.Option(help="The port; 0 takes a free one.", show_default="api.port, or 8080")
]


def server(host: HostOption = None, port: PortOption = None, json_output: output.JsonOption = False) -> None:
    """Serve the web pages and the API. It runs nothing itself: start workers beside it, or use `calve dev`.

    Example: calve server --port 8080
    """
    settings = _with_address(load_settings(), host, port)
    with _ended_by_signals(), _database(settings) as database:
        _serve(_serving(settings, database), "server", json_output)


def worker(json_output: output.JsonOption = False) -> None:
    """Run an engine: it takes what is queued, and runs it. Any number may share a PostgreSQL state.

    Example: CALVE_STATE_URL=postgresql://calve@db/calve calve worker
    """
    settings = load_settings()
    with _ended_by_signals(), _database(settings) as database, _engine(settings, database), _until_told():
        _announce(
            {"role": "worker", "home": str(settings.home)}, "the engine runs; Ctrl-C ends it", json_output
        )
        _wait_for_a_signal()


def dev(host: HostOption = None, port: PortOption = None, json_output: output.JsonOption = False) -> None:
    """Serve the web pages and the API, and run an engine, in one process.

    Example: calve dev --port 8080
    """
    run_dev(_with_address(load_settings(), host, port), json_output)


def run_dev(settings: Settings, json_output: bool = False) -> None:
    """Serve and run until the process is told to end."""
    with _ended_by_signals(), _database(settings) as database:
        serving = _serving(settings, database)
        with _engine(settings, database):
            _serve(serving, "dev", json_output)


def run_dev_anywhere(settings: Settings) -> None:
    """The same on a free port, if the usual one is taken."""
    try:
        run_dev(settings)
    except UnreachableError as error:
        if error.code != "ADDRESS_TAKEN":
            raise
        run_dev(_with_address(settings, None, 0))


def _wait_for_a_signal() -> None:
    # A signal that comes just before a wait begins is seen only when that wait is over.
    while not threading.Event().wait(_LOOK_S):
        pass


def _serve(serving: Serving, role: str, json_output: bool) -> None:
    text = f"listening on {serving.url}; Ctrl-C ends it"
    with _until_told():
        _announce({"role": role, "url": serving.url}, text, json_output)
        serving.run()


def _serving(settings: Settings, database: Database) -> Serving:
    from calve.engine.orchestrator import Orchestrator
    from calve.server.app import create_app
    from calve.server.serving import Serving
    from calve.ui.site import add_pages

    return Serving(add_pages(create_app(Orchestrator(settings, database))), settings.api)


def _with_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    stated: dict[str, Any] = {"host": host, "port": port}
    changed = {name: value for name, value in stated.items() if value is not None}
    api = ApiSettings.model_validate({**settings.api.model_dump(), **changed})
    return settings.model_copy(update={"api": api})


@contextmanager
def _database(settings: Settings) -> Iterator[Database]:
    from calve.state.database import Database

    database = Database(settings.state_url)
    try:
        yield database
    finally:
        database.close()


@contextmanager
def _engine(settings: Settings, database: Database) -> Iterator[None]:
    from calve.engine.core.engine import Engine

    engine = Engine(settings, database)
    engine.start()
    try:
        yield
    finally:
        engine.stop()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Have SIGTERM end the process as Ctrl-C does: everything is given back on the way out."""
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@contextmanager
def _until_told() -> Iterator[None]:
    """To be told to end is how these processes end, and no failure."""
    try:
        yield
    except KeyboardInterrupt:
        return


def _announce(value: dict[str, Any], text: str, json_output: bool) -> None:
    import json
    import sys

    # One line, at once: who started this process may wait for it.
    sys.stdout.write((json.dumps(value) if json_output else text) + "\n")
    sys.stdout.flush()
