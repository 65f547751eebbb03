"""Who is alive: each engine has a row whose beat moves, and writes nothing once the row is dead.

Every batch of an engine moves its own beat before it changes anything, in the same transaction. Who
takes over from an engine marks the row dead first; both need the row, so one of them waits for the other,
and a stale engine finds out before it can change anything.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from typing import Any

import psutil
from sqlalchemy import Connection, bindparam, insert, select, update

from calve.errors import ConflictError
from calve.state.orchestration import leases, runs

#: How often an engine that has nothing to do moves its beat within the time of a lease.
BEATS_PER_LEASE = 5
#: A lease whose beat is older than this, by the wall clock, is not expected to take new work.
STALE_S = 60.0


_RENEW = (
    update(leases)
    .where(leases.c.generation == bindparam("own"), leases.c.alive)
    .values(beat=leases.c.beat + 1, beaten_at=bindparam("now"))
)


class LeaseLostError(ConflictError):
    """This engine was taken for dead, and others have its runs."""

    def __init__(self, generation: int) -> None:
        super().__init__(
            "LEASE_LOST",
            f"the engine of generation {generation} did not answer for too long, and was replaced",
            "nothing is to be done: it goes on under a new generation",
        )


@dataclass(frozen=True, slots=True)
class Lease:
    """The row of one engine."""

    generation: int

    def renew(self, connection: Connection, now_ms: int) -> None:
        """Move the beat; LeaseLostError if this engine was replaced."""
        moved = connection.execute(_RENEW, {"own": self.generation, "now": now_ms})
        if moved.rowcount != 1:
            raise LeaseLostError(self.generation)

    def end(self, connection: Connection) -> None:
        """Give back everything: a clean end."""
        bury(connection, self.generation)


def take_lease(connection: Connection, now_ms: int) -> Lease:
    """Register this process as an engine."""
    row = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "process_started": _process_started(os.getpid()),
        "alive": True,
        "beat": 0,
        "started_at": now_ms,
        "beaten_at": now_ms,
    }
    key = connection.execute(insert(leases).values(row)).inserted_primary_key
    assert key is not None
    return Lease(key[0])


def bury(connection: Connection, generation: int, seen_beat: int | None = None) -> bool:
    """Mark an engine dead and free its runs; false if it moved since its beat was seen."""
    condition = [leases.c.generation == generation, leases.c.alive]
    if seen_beat is not None:
        condition.append(leases.c.beat == seen_beat)
    if connection.execute(update(leases).where(*condition).values(alive=False)).rowcount != 1:
        return False
    connection.execute(update(runs).where(runs.c.owner == generation).values(owner=None))
    return True


class Watch:
    """Watches the beats of the other engines.

    A beat that does not move for the time of a lease, by the clock of who watches, is that of a dead one.
    """

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._seen: dict[int, tuple[int, float]] = {}

    def find_dead(self, connection: Connection, own: int | None) -> list[tuple[int, int]]:
        """The generations that are dead, with the beat that was seen last."""
        found = connection.execute(select(leases).where(leases.c.alive)).all()
        others = [row for row in found if row.generation != own]
        now = time.monotonic()
        dead = [(row.generation, row.beat) for row in others if self._is_dead(row, now)]
        self._seen = {row.generation: self._seen[row.generation] for row in others}
        return dead

    def _is_dead(self, row: Any, now: float) -> bool:
        generation, beat = row.generation, row.beat
        before = self._seen.get(generation)
        if before is None or before[0] != beat:
            self._seen[generation] = before = (beat, now)
        if is_gone(row):
            return True
        return now - before[1] > self._lease_s


def is_gone(row: Any) -> bool:
    """True if a lease belongs to a process of this machine that is no more."""
    if row.host != socket.gethostname():
        return False
    return bool(_process_started(row.pid) != row.process_started)


def any_engine_alive(connection: Connection) -> bool:
    """True if some engine can be expected to take work."""
    found = connection.execute(select(leases).where(leases.c.alive)).all()
    return any(not is_gone(row) and not _is_stale(row) for row in found)


def _is_stale(row: Any) -> bool:
    return bool(time.time() * 1000 - row.beaten_at > STALE_S * 1000)


def _process_started(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return ""
