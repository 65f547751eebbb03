"""Stretches of a table's history: are they whole, and what did each snapshot do?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.io import FileIO

from calve.errors import RefusedError
from calve.lake.amounts import count
from calve.lake.manifest import ADDED, DELETED
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import Snapshot, TableMetadata
from calve.lake.model import Mode, Operation, Segment
from calve.lake.storage import load_manifest, load_manifest_list, map_files


@dataclass(frozen=True, slots=True)
class Stretch:
    """The snapshots of a segment, oldest first.

    `complete` says that each of them is there and that they lead back to the segment's start;
    `truncated` that history expired before the start was reached, `rewritten` that it leads
    elsewhere: a rollback, or a replaced table.
    """

    segment: Segment
    snapshots: tuple[Snapshot, ...]
    complete: bool
    truncated: bool

    @property
    def rewritten(self) -> bool:
        """Whether the end does not descend from the start."""
        return not self.complete and not self.truncated


def trace(metadata: TableMetadata, segment: Segment) -> Stretch:
    """Walk back from the end of a segment to its start, no further."""
    start, end = segment.from_snapshot_exclusive, segment.to_snapshot_inclusive
    if start == end:
        return Stretch(segment, (), complete=True, truncated=False)
    walked: list[Snapshot] = []
    for snapshot in metadata.ancestry(end):
        walked.append(snapshot)
        if snapshot.parent_id == start:
            return Stretch(segment, tuple(reversed(walked)), complete=True, truncated=False)
    truncated = bool(walked) and not _is_root(walked[-1])
    return Stretch(segment, tuple(reversed(walked)), complete=False, truncated=truncated)


def _is_root(snapshot: Snapshot) -> bool:
    """Whether a table began with this snapshot.

    Some writers forget a snapshot's parent when the parent expires; then it has more files than
    it added.
    """
    total, added = (snapshot.summary.get(key) for key in ("total-data-files", "added-data-files"))
    return snapshot.parent_id is None and (total is None or total == (added or "0"))


def manifests_of(io: FileIO, snapshot: Snapshot) -> list[ManifestFile]:
    """The manifests of a snapshot."""
    if snapshot.manifest_list is None:
        raise RefusedError(
            "MANIFEST_LIST_MISSING",
            f"snapshot {snapshot.id} lists its manifests in the old way, inside the metadata file",
            "rewrite the table's manifests with a current writer, then capture",
        )
    manifests = load_manifest_list(io, snapshot.manifest_list)
    for manifest in manifests:
        if manifest.key_metadata is not None:
            raise RefusedError(
                "TABLE_ENCRYPTED",
                f"{manifest.path} is encrypted",
                "capture from a table without table encryption",
            )
    return manifests


@dataclass(frozen=True, slots=True)
class SnapshotEffect:
    """What one snapshot did, and the manifests it wrote."""

    snapshot: Snapshot
    operation: Operation
    written: tuple[ManifestFile, ...]


def classify(io: FileIO, snapshots: Sequence[Snapshot]) -> list[SnapshotEffect]:
    """What each snapshot did, from the entries it wrote. Reads one manifest list per snapshot."""

    def effect(snapshot: Snapshot) -> SnapshotEffect:
        written = tuple(m for m in manifests_of(io, snapshot) if m.added_snapshot_id == snapshot.id)
        return SnapshotEffect(snapshot, _operation(io, snapshot, written), written)

    sample = snapshots[0].manifest_list or "" if snapshots else ""
    return list(map_files(effect, snapshots, sample))


@dataclass(slots=True)
class _Tally:
    added: int = 0
    deleted: int = 0
    added_rows: int = 0
    deleted_rows: int = 0


def _operation(io: FileIO, snapshot: Snapshot, written: Sequence[ManifestFile]) -> Operation:
    data, deletes = _Tally(), _Tally()
    for manifest in written:
        _count(io, manifest, data if manifest.is_data else deletes)
    came = data.added > 0
    went = data.deleted > 0 or deletes.added > 0 or deletes.deleted > 0
    # Only the writer knows that rows are the same; but a rewrite that adds rows is not one.
    if snapshot.operation == "replace" and data.added_rows <= data.deleted_rows:
        return Operation.REPLACE
    if went:
        return Operation.OVERWRITE if came else Operation.DELETE
    return Operation.APPEND if came or snapshot.operation == "append" else Operation.REPLACE


def _count(io: FileIO, manifest: ManifestFile, tally: _Tally) -> None:
    if None not in (manifest.added_files, manifest.deleted_files, manifest.added_rows, manifest.deleted_rows):
        tally.added += manifest.added_files or 0
        tally.deleted += manifest.deleted_files or 0
        tally.added_rows += manifest.added_rows or 0
        tally.deleted_rows += manifest.deleted_rows or 0
        return
    for entry in load_manifest(io, manifest).entries():
        if entry.snapshot_id != manifest.added_snapshot_id:
            continue
        if entry.status == ADDED:
            tally.added += 1
            tally.added_rows += entry.record_count
        elif entry.status == DELETED:
            tally.deleted += 1
            tally.deleted_rows += entry.record_count


def count_operations(effects: Sequence[SnapshotEffect]) -> dict[str, int]:
    """How many snapshots did what, in the order in which each kind first came."""
    return dict(Counter(effect.operation.value for effect in effects))


_REMOVALS = ("deleted-data-files", "added-delete-files", "removed-delete-files", "deleted-records")


def _removes_by_name(snapshot: Snapshot) -> bool:
    return any(count(snapshot, key) for key in _REMOVALS)


def only_appends_by_name(snapshots: Sequence[Snapshot]) -> bool:
    """Whether every snapshot calls itself an append and its own summary does not contradict."""
    return all(snapshot.operation == "append" and not _removes_by_name(snapshot) for snapshot in snapshots)


def changes_rows(snapshot: Snapshot, mode: Mode) -> bool:
    """Whether a capture in this mode shows anything of a snapshot, by the snapshot's own summary."""
    if snapshot.operation == "replace" and count(snapshot, "added-records") <= count(
        snapshot, "deleted-records"
    ):
        return False
    return mode is not Mode.APPEND or not _removes_by_name(snapshot)
