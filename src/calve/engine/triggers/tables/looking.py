"""One look at the tables that triggers wait for, and what follows from it.

A look is one query for the triggers, one for the positions of their consumers, and one for each catalog.
The metadata of a table is opened only where a trigger may come to another decision than at the last look.
Nothing is kept here that is not in the state: another engine, or this one after a crash, goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection

from calve import logs
from calve.engine.catalog.versions import load_definition
from calve.engine.core.nudge import announce, nudge
from calve.engine.triggers.tables.decision import Decision, What, decide
from calve.engine.triggers.tables.firing import decision_text, fire, note_decision
from calve.engine.triggers.tables.measuring import Measured, Positions, Tables, measure
from calve.engine.triggers.tables.rows import TriggerRow, read_active, read_consumers
from calve.engine.triggers.tables.seen import Seen
from calve.engine.triggers.tables.watches import Watch, watches_of
from calve.errors import CalveError
from calve.lake.catalogs import Lake, TableName
from calve.lake.locating import locate_tables
from calve.ledger.holds import read_holds
from calve.settings import Settings
from calve.state.clock import now_ms
from calve.state.database import Database

log = logs.get_logger(__name__)
T = TypeVar("T")
Watches = tuple[Watch, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What a trigger was decided by; while that is the same, so is the decision, up to some time."""

    fingerprint: Any
    look_at_ms: int | None

    def holds(self, fingerprint: Any, now: int) -> bool:
        return self.fingerprint == fingerprint and (self.look_at_ms is None or now < self.look_at_ms)


class Looker:
    """Looks again and again, and remembers what has not changed. For one thread."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._database = database
        self._lake = Lake(settings)
        self._known: dict[tuple[str, str], _Known] = {}
        self._watches: dict[tuple[str, str, int, int], Watches] = {}

    def look(self) -> None:
        """Start what is to be started, and keep why the rest is not."""
        with self._database.read() as connection:
            rows, watches = self._watch(connection, read_active(connection))
            consumers = [x.consumer for found in watches.values() for x in found if x.consumer is not None]
            positions = Positions(read_consumers(connection, consumers), read_holds(connection, consumers))
        names = [x.name for found in watches.values() for x in found if isinstance(x.name, TableName)]
        tables = Tables(locate_tables(self._lake, names))
        self._known = {row.key: self._known[row.key] for row in rows if row.key in self._known}
        for row in rows:
            self._decide(row, watches[row.key], tables, positions)

    def next_look_ms(self) -> int | None:
        """When time alone may change a decision; None if it never does."""
        return min((x.look_at_ms for x in self._known.values() if x.look_at_ms is not None), default=None)

    def _watch(
        self, connection: Connection, rows: Sequence[TriggerRow]
    ) -> tuple[list[TriggerRow], Mapping[tuple[str, str], Watches]]:
        """The triggers that can be read, and what each looks at: worked out once for each version."""
        before, self._watches = self._watches, {}
        readable = []
        for row in rows:
            key = (*row.key, row.active_version, row.made_at)
            found = before.get(key) or self._read_watches(connection, row)
            if found:
                self._watches[key] = found
                readable.append(row)
        return readable, {key[:2]: found for key, found in self._watches.items()}

    def _read_watches(self, connection: Connection, row: TriggerRow) -> Watches:
        try:
            workflow = load_definition(connection, row.workflow_id, row.active_version).workflow
            return watches_of(workflow, row.trigger, self._lake)
        except ValueError as error:
            # Pushed by a release that knew other words: it stops no other trigger.
            log.warning("a trigger cannot be read", workflow=row.workflow_id, error=str(error))
            return ()

    def _decide(self, row: TriggerRow, watches: Watches, tables: Tables, positions: Positions) -> None:
        now = now_ms()
        fingerprint = _fingerprint(row, watches, tables, positions)
        known = self._known.pop(row.key, None)
        if known is not None and known.holds(fingerprint, now):
            self._known[row.key] = known
            return
        last = row.last
        is_running = last is not None and last.is_running
        nothing = Measured((), Seen.from_text(row.seen))
        found = nothing if is_running else measure(row, watches, tables, positions)
        decision = decide(row.trigger, found.tables, last, row.waiting_since, now)
        if decision.what is What.START:
            # Looked at anew next time: somebody else may have been quicker, or the queue in the way.
            if self._write(lambda connection: fire(connection, row, decision, found, now)):
                log.info("a trigger started a workflow", workflow=row.workflow_id, why=decision.why)
            return
        self._keep(row, decision, found, now)
        self._known[row.key] = _Known(fingerprint, decision.look_at_ms)

    def _keep(self, row: TriggerRow, decision: Decision, found: Measured, now: int) -> None:
        # While an instance runs, the decision that started it stands.
        is_told = decision.what is What.RUNNING or decision_text(decision, found.tables) == row.decision
        if not is_told or (decision.what is What.WAITING and row.waiting_since is None):
            self._write(lambda connection: note_decision(connection, row, decision, found.tables, now))

    def _write(self, change: Callable[[Connection], T]) -> T:
        with self._database.write() as connection:
            done = change(connection)
            announce(connection)
        nudge(self._database)
        return done


def _fingerprint(row: TriggerRow, watches: Watches, tables: Tables, positions: Positions) -> tuple[Any, ...]:
    """All that a decision follows from, but for the time."""
    places = []
    for watch in watches:
        place = watch.name if isinstance(watch.name, CalveError) else tables.places[watch.name]
        places.append(place.message if isinstance(place, CalveError) else place.location)
    last = (row.instance_id, row.started_at, row.status)
    return (row.active_version, row.made_at, row.seen, last, tuple(places), positions.of(watches))
