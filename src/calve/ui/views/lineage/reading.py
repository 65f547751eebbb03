"""The lineage for pages: where very much of it is to be read first, that happens beside them."""

from __future__ import annotations

import gc
import threading

from sqlalchemy import Connection

from calve import logs
from calve.backfill.lineage.graph import Lineage
from calve.backfill.lineage.loading import load_lineage, try_lineage
from calve.engine.orchestrator import Orchestrator

log = logs.get_logger(__name__)
#: So many workflows are read while a page waits.
AT_ONCE = 200

_lock = threading.Lock()
_reading: set[str] = set()


def read_lineage(
    orchestrator: Orchestrator, connection: Connection, at_once: int | None = None
) -> tuple[Lineage, int]:
    """The lineage, and 0; or an empty one, and of how many workflows it is being read now.

    Up to `at_once` workflows, else AT_ONCE, are read before this returns.
    """
    most = AT_ONCE if at_once is None else at_once
    lineage, unread = try_lineage(connection, orchestrator.settings, most)
    if unread:
        _begin(orchestrator)
    return lineage, unread


def read_all(orchestrator: Orchestrator) -> None:
    """Read the lineage of all workflows, so that pages find it."""
    with orchestrator.database.read() as connection:
        load_lineage(connection, orchestrator.settings)
    # It stays for as long as the server does. Else the collector would go through it again and again,
    # and hold up a page each time.
    gc.collect()
    gc.freeze()


def _begin(orchestrator: Orchestrator) -> None:
    """Read everything in a thread, unless one does so already."""
    url = orchestrator.database.url
    with _lock:
        if url in _reading:
            return
        _reading.add(url)
    threading.Thread(target=_read, args=(orchestrator,), name="lineage", daemon=True).start()


def _read(orchestrator: Orchestrator) -> None:
    try:
        read_all(orchestrator)
    except Exception:
        log.exception("the lineage could not be read")
    finally:
        with _lock:
            _reading.discard(orchestrator.database.url)
