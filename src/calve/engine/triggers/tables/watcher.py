"""The watcher of tables: a thread beside each engine that starts workflows whose sources have changed."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from sqlalchemy import exists, select
from sqlalchemy.exc import SQLAlchemyError

from calve import logs
from calve.errors import CalveError
from calve.importing import one_at_a_time
from calve.settings import Settings
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import incremental_triggers

if TYPE_CHECKING:
    from calve.engine.triggers.tables.looking import Looker

log = logs.get_logger(__name__)

#: Two looks are so far apart at least, however often the watcher is woken; and looking takes no more than
#: so small a part of the time, for it shares the process with the engine.
LOOKS_APART_S = 0.05
LOOKING_PART = 0.2
#: How long the end of the engine waits for a catalog that does not answer.
END_S = 10.0
_ANY = select(exists(select(incremental_triggers.c.workflow_id).where(incremental_triggers.c.active)))


class TableWatcher:
    """Looks at the tables that triggers wait for, every so often and when it is woken."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._poll_s = settings.engine.table_poll.total_seconds()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._has_triggers = False
        self._looker: Looker | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._run, name="calve-tables", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(END_S)
            self._thread = None

    def wake(self) -> None:
        """Look now: tables or triggers have changed. May be called from any thread."""
        self._woken.set()

    def note_run_end(self) -> None:
        """A run has ended, which matters only where there are triggers. May be called from any thread."""
        if self._has_triggers:
            self._woken.set()

    def look(self) -> None:
        """Look once, and start what is to be started. Without a trigger no catalog is asked."""
        with self._database.read() as connection:
            self._has_triggers = bool(connection.execute(_ANY).scalar())
        if self._has_triggers:
            self._make_looker().look()

    def _make_looker(self) -> Looker:
        if self._looker is None:
            # Most engines never need it, and it brings all that reads Iceberg with it.
            with one_at_a_time():
                from calve.engine.triggers.tables.looking import Looker

            self._looker = Looker(self._settings, self._database)
        return self._looker

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            began = time.monotonic()
            try:
                self.look()
            except (CalveError, SQLAlchemyError) as error:
                log.warning("the tables could not be looked at", error=str(error))
            except Exception:  # whatever is wrong with one look, the next may find it right
                log.exception("a look at the tables failed")
            taken_s = time.monotonic() - began
            if not self._stopping.wait(max(LOOKS_APART_S, taken_s * (1 / LOOKING_PART - 1))):
                self._woken.wait(self._pause_s())

    def _pause_s(self) -> float:
        due = None if self._looker is None else self._looker.next_look_ms()
        if due is None:
            return self._poll_s
        return min(self._poll_s, max(0.0, (due - now_ms()) / 1000))
