"""The ledger of a process, opened once: steps come and go, and opening it costs more than most captures."""

from __future__ import annotations

import threading

from calve.ledger.ledger import Ledger
from calve.settings import Settings

_lock = threading.Lock()
_ledgers: dict[tuple[str, str], Ledger] = {}


def ledger_of(settings: Settings) -> Ledger:
    """The ledger of these settings; safe among threads."""
    key = (str(settings.home), settings.state_url)
    with _lock:
        if key not in _ledgers:
            _ledgers[key] = Ledger(settings)
        return _ledgers[key]


def close_ledgers() -> None:
    """Give back all connections; the next step opens its ledger anew."""
    with _lock:
        while _ledgers:
            _ledgers.popitem()[1].close()
