"""Which partitions differ between two states of a table, and which each snapshot in between touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from calve.errors import RefusedError
from calve.lake.deletes import PartitionKey, partition_key
from calve.lake.history import manifests_of, trace
from calve.lake.manifest import EXISTING, Entry
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import Snapshot
from calve.lake.model import Segment
from calve.lake.net import split_manifests
from calve.lake.storage import load_manifests
from calve.lake.tables import SourceTable

_FileKey = tuple[str, int, int | None, int | None]


@dataclass(frozen=True, slots=True)
class PartitionTouch:
    """The paths of the files that came to a partition and went from it.

    Several deletion vectors share one file, so a path may be among those that came and those that went.
    """

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    added_deletes: frozenset[str] = frozenset()
    removed_deletes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Touched:
    """What differs, by partition: the id of a spec and the values in its order.

    An unpartitioned table has one partition, without values. Partitions of different `specs` cannot
    be compared: two of them may hold the same rows.
    """

    partitions: Mapping[PartitionKey, PartitionTouch]

    @property
    def specs(self) -> frozenset[int]:
        """The ids of the specs that touched files were written with."""
        return frozenset(spec_id for spec_id, _ in self.partitions)


class TouchedSnapshot(NamedTuple):
    """What one snapshot touched."""

    snapshot_id: int
    summary: Mapping[str, str]
    partitions: frozenset[PartitionKey]


def touched_by(
    table: SourceTable, from_snapshot_exclusive: int | None, to_snapshot_inclusive: int | None
) -> Touched:
    """The net difference of two states on whatever branches; None is the empty table.

    Raises SNAPSHOT_NOT_FOUND where one has expired.
    """
    old, new = _manifests(table, from_snapshot_exclusive), _manifests(table, to_snapshot_inclusive)
    found: dict[PartitionKey, list[set[str]]] = {}
    for data in (True, False):
        split = split_manifests(old, new, data)
        gone, came = _live(table, split.gone), _live(table, split.new)
        place = 0 if data else 2
        for at, these, others in ((place, came, gone), (place + 1, gone, came)):
            for key in these.keys() - others.keys():
                parts = found.setdefault(partition_key(these[key]), [set(), set(), set(), set()])
                parts[at].add(key[0])
    return Touched({key: PartitionTouch(*map(frozenset, parts)) for key, parts in found.items()})


def _manifests(table: SourceTable, snapshot_id: int | None) -> list[ManifestFile]:
    return [] if snapshot_id is None else manifests_of(table.io, table.metadata.snapshot(snapshot_id))


def _live(table: SourceTable, files: Iterable[ManifestFile]) -> dict[_FileKey, Entry]:
    return {
        entry.identity: entry for manifest in load_manifests(table.io, files) for entry in manifest.live()
    }


def touched_by_each(
    table: SourceTable, from_snapshot_exclusive: int | None, to_snapshot_inclusive: int
) -> list[TouchedSnapshot]:
    """What each snapshot after one and up to another touched, oldest first.

    Raises HISTORY_EXPIRED or HISTORY_REWRITTEN where the snapshots do not lead from one to the other.
    """
    stretch = trace(table.metadata, Segment(from_snapshot_exclusive, to_snapshot_inclusive))
    if not stretch.complete:
        span = f"from snapshot {from_snapshot_exclusive} to {to_snapshot_inclusive} of {table.name}"
        raise RefusedError(
            "HISTORY_EXPIRED" if stretch.truncated else "HISTORY_REWRITTEN",
            f"no unbroken line of snapshots leads {span}",
            "start from a snapshot that the other was made from, and that has not expired",
        )
    return [_touched_in(table, snapshot) for snapshot in stretch.snapshots]


def _touched_in(table: SourceTable, snapshot: Snapshot) -> TouchedSnapshot:
    written = (m for m in manifests_of(table.io, snapshot) if m.added_snapshot_id == snapshot.id)
    touched = frozenset(
        partition_key(entry)
        for manifest in load_manifests(table.io, written)
        for entry in manifest.entries()
        if entry.status != EXISTING and entry.snapshot_id == snapshot.id
    )
    return TouchedSnapshot(snapshot.id, snapshot.summary, touched)
