"""Whether a statement has landed, by what the target's metadata says and by what was noted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from calve.spark.once.scope import Scope

MAIN = "main"
_FIRST = 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a target. `sequence` is None where it cannot be told."""

    id: int
    parent: int | None
    timestamp_ms: int
    marker: str | None
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class TableState:
    """A target as it is now."""

    name: str
    snapshots: tuple[Snapshot, ...] = ()
    #: The newest snapshot of each branch.
    branches: Mapping[str, int] = field(default_factory=dict)

    def history(self, branches: Iterable[str]) -> set[int]:
        """The snapshots that these branches have come from.

        Where snapshots were expired out of the middle, what is older than the gap counts as well: a write is
        rather not repeated.
        """
        known = {snapshot.id: snapshot for snapshot in self.snapshots}
        seen: set[int] = set()
        for branch in branches:
            current = known.get(self.branches.get(branch, 0))
            while current is not None and current.id not in seen:
                seen.add(current.id)
                parent = known.get(current.parent or 0)
                if parent is None and current.parent is not None:
                    limit = current.timestamp_ms
                    seen |= {x.id for x in self.snapshots if x.timestamp_ms < limit}
                current = parent
        return seen

    def is_younger_than(self, moment_ms: int) -> bool:
        """True if the table was made after a moment: what landed before that was in another table."""
        if not self.snapshots:
            return True
        return any(x.sequence == _FIRST and x.timestamp_ms > moment_ms for x in self.snapshots)


@dataclass(frozen=True, slots=True)
class Noted:
    """What is known of a statement from earlier attempts. `snapshot_id` None: only that it began."""

    text_hash: str
    snapshot_id: int | None = None
    landed_at_ms: int | None = None


def find_landed(
    state: TableState | None, scope: Scope, statement: str, noted: Noted | None, branches: Iterable[str]
) -> int | None:
    """The snapshot in which a statement landed; None if it did not, or was taken back, or its table is gone.

    A snapshot that the ledger has and the table does not was expired: the write stands.
    """
    if state is None:
        return None
    history = state.history({MAIN, *branches})
    for snapshot in state.snapshots:
        if snapshot.marker is not None and snapshot.id in history and scope.is_of(snapshot.marker, statement):
            return snapshot.id
    if noted is None or noted.snapshot_id is None:
        return None
    was_expired = all(snapshot.id != noted.snapshot_id for snapshot in state.snapshots)
    if was_expired and not state.is_younger_than(noted.landed_at_ms or 0):
        return noted.snapshot_id
    return None
