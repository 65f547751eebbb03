"""Tells all who listen in this process that the state has changed: one watch for any number of listeners."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from calve.engine.core.nudge import Nudges
from calve.state.database import Database

_Listener = tuple[asyncio.AbstractEventLoop, asyncio.Event]


class Hub:
    """Watches the state as long as somebody listens."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._listeners: set[_Listener] = set()
        self._nudges: Nudges | None = None
        #: True once the server ends: who listens has to leave.
        self.closed = False

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """An event that is set at every change; who listens clears it."""
        listener = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._listeners.add(listener)
            if self._nudges is None:
                self._nudges = Nudges(self._database, self._tell)
        try:
            yield listener[1]
        finally:
            self._leave(listener)

    def close(self) -> None:
        """Send all listeners home."""
        self.closed = True
        self._tell()

    def _leave(self, listener: _Listener) -> None:
        with self._lock:
            self._listeners.discard(listener)
            idle = None if self._listeners else self._nudges
            if idle is not None:
                self._nudges = None
        if idle is not None:
            # Not here: its end waits for a thread that may be calling `_tell`, and the loop must go on.
            threading.Thread(target=idle.close, daemon=True).start()

    def _tell(self) -> None:
        with self._lock:
            listeners = tuple(self._listeners)
        for loop, event in listeners:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)
