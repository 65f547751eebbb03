"""Tables opened for pages: metadata files never change, so each is read once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

from calve.engine.orchestrator import Orchestrator
from calve.errors import CalveError
from calve.lake import Lake, SourceTable
from calve.lake.locating import Located, open_tables
from calve.ledger.ledger import Ledger
from calve.steps.incremental.shared import ledger_of

T = TypeVar("T")
#: Of all tables that are kept together, in snapshots: these are what metadata files grow with.
_SNAPSHOTS_KEPT = 40_000


class Kept(Generic[T]):
    """What was made once, up to a weight in all; what was not asked for the longest is forgotten first.

    Safe among threads: two that ask for the same at once may both make it.
    """

    def __init__(self, most: int, weigh: Callable[[T], int] = lambda made: 1) -> None:
        self._most = most
        self._weigh = weigh
        self._weight = 0
        self._made: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """What is kept under a key."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
            return self._made.get(key)

    def keep(self, key: Hashable, made: T) -> T:
        """Keep something under a key."""
        with self._lock:
            if key not in self._made:
                self._made[key] = made
                self._weight += self._weigh(made)
            while self._weight > self._most and len(self._made) > 1:
                self._weight -= self._weigh(self._made.popitem(last=False)[1])
        return made


def _snapshots(table: SourceTable) -> int:
    return 1 + len(table.metadata.raw.get("snapshots") or ())


_tables: Kept[SourceTable] = Kept(_SNAPSHOTS_KEPT, _snapshots)


def ledger_for(orchestrator: Orchestrator) -> Ledger:
    """The ledger on the state of an orchestrator; the process has one."""
    return ledger_of(orchestrator.settings.model_copy(update={"state_url": orchestrator.database.url}))


def open_kept(lake: Lake, names: Iterable[str]) -> Mapping[str, SourceTable | CalveError]:
    """The tables of some names as they are now, or why one cannot be read; one question to each catalog."""
    return open_tables(lake, names, _read)


def _read(place: Located) -> SourceTable | CalveError:
    kept = _tables.get(place.location)
    if kept is None:
        opened = place.open()
        return opened if isinstance(opened, CalveError) else _tables.keep(place.location, opened)
    # What a catalog hands out to read a table with is good for some time only.
    return replace(kept, lake=place.lake, io=kept.io if place.io is None else place.io)
