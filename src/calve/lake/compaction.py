"""Takes compaction back: files that were only rewritten are shown as they were, or not at all.

A rewrite within the range replaces files of the older state by files of the newer one that hold the
same rows. Without this, a consumer of the difference would see all of these rows go and come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyiceberg.io import FileIO

from calve.lake.history import SnapshotEffect
from calve.lake.manifest import ADDED, DELETED, Entry
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import Snapshot
from calve.lake.model import Operation
from calve.lake.storage import load_manifests


@dataclass(slots=True)
class Undone:
    """What to do differently so that rewrites do not show."""

    hidden_after: set[str] = field(default_factory=set)  # files that rewrites made
    hidden_before: set[str] = field(default_factory=set)  # files of the older state that they replaced
    restored: dict[str, tuple[ManifestFile, set[str]]] = field(default_factory=dict)  # by manifest


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """What one snapshot replaced by what."""

    made: set[str]
    replaced: dict[str, ManifestFile]
    in_range: set[str]
    same_rows: bool


def undo_rewrites(
    io: FileIO, effects: Sequence[SnapshotEffect], start: Snapshot, came: set[str], went: set[str]
) -> Undone:
    """What to hide and to restore, given the paths that came and went between the two states.

    Newest rewrite first, because its files may stand for those that an older one made. Only for
    ranges without delete files: with them, the rows of a file depend on the moment.
    """
    undone = Undone()
    if any(not manifest.is_data for effect in effects for manifest in effect.written):
        return undone
    came, went = set(came), set(went)
    rewrites = [_rewrite(io, effect, start) for effect in effects if effect.operation is Operation.REPLACE]
    made_so_far = [set().union(*(r.made for r in rewrites[:at])) for at in range(len(rewrites))]
    for rewrite, made_before in zip(reversed(rewrites), reversed(made_so_far), strict=True):
        replaced = set(rewrite.replaced)
        matters = bool(replaced & went or replaced & made_before)
        known = rewrite.made <= came and replaced <= went | rewrite.in_range
        if not (matters and known and rewrite.same_rows):
            continue
        came -= rewrite.made
        came |= replaced - went
        undone.hidden_before |= replaced & went
        went -= replaced
        _note(undone, rewrite, replaced - undone.hidden_before)
    return undone


def _note(undone: Undone, rewrite: _Rewrite, restored: set[str]) -> None:
    undone.hidden_after |= rewrite.made
    for _, paths in undone.restored.values():
        paths.difference_update(rewrite.made)
    for path in restored:
        manifest = rewrite.replaced[path]
        undone.restored.setdefault(manifest.path, (manifest, set()))[1].add(path)


def _rewrite(io: FileIO, effect: SnapshotEffect, start: Snapshot) -> _Rewrite:
    made: set[str] = set()
    replaced: dict[str, ManifestFile] = {}
    in_range: set[str] = set()
    rows = 0
    whole = True
    for manifest in load_manifests(io, effect.written):
        for entry in manifest.entries():
            if entry.snapshot_id != effect.snapshot.id:
                continue
            if entry.status == ADDED:
                made.add(entry.path)
                rows += entry.record_count
            elif entry.status == DELETED:
                replaced[entry.path] = manifest.file
                rows -= entry.record_count
                whole = whole and _can_be_shown(entry, manifest.file)
                if entry.sequence_number > start.sequence_number:
                    in_range.add(entry.path)
    return _Rewrite(made, replaced, in_range, rows == 0 and whole)


def _can_be_shown(entry: Entry, manifest: ManifestFile) -> bool:
    """Whether the entry of a removed file tells all that a live one would.

    In a manifest that hands out row ids, a file without its own would be given wrong ones.
    """
    return manifest.first_row_id is None or entry.first_row_id is not None
