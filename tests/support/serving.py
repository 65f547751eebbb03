"""A server and an engine of their own, in this process, on a free port."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from calve.engine.core.engine import Engine
from calve.engine.orchestrator import Orchestrator
from calve.server.app import create_app
from calve.server.serving import Serving
from calve.settings import load_settings
from calve.state.database import Database
from calve.ui.site import add_pages
from support.states import place_state

DEADLINE_S = 60
T = TypeVar("T")


@contextmanager
def running_server(home: Path, with_engine: bool = True) -> Iterator[str]:
    """The URL of a server over the state of a home, with an engine that runs what is queued."""
    settings = load_settings(home)
    if not (home / "state.db").exists():
        place_state(home)
    database = Database(settings.state_url)
    api = settings.api.model_copy(update={"port": 0})
    serving = Serving(add_pages(create_app(Orchestrator(settings, database))), api)
    engine = Engine(settings, database)
    if with_engine:
        engine.start()
    serving.start()
    try:
        yield serving.url
    finally:
        serving.stop()
        if with_engine:
            engine.stop()
        database.close()


def eventually(look: Callable[[], T | None], what: str) -> T:
    """What `look` gives as soon as it gives something; it is an error if that takes too long."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what} did not happen in {DEADLINE_S} s"
        time.sleep(0.02)
