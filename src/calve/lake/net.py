"""The difference of two states of a table, as the files that make it.

Only manifests that are not common to both states are opened, and of the common ones those that
may hold a file whose deletes changed. `after` shows the touched files as the newer state has them,
`before` as the older one has them; rows that are in both are part of both.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.io import FileIO

from calve.lake.compaction import Undone, undo_rewrites
from calve.lake.deletes import DeleteMatcher, referenced_path
from calve.lake.history import SnapshotEffect, manifests_of
from calve.lake.icdc import StateBuilder
from calve.lake.manifest import DELETED, Entry, Manifest
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import Snapshot, TableMetadata
from calve.lake.model import Operation
from calve.lake.stats import ChangeStats
from calve.lake.storage import load_manifests
from calve.lake.unopened import show_unopened


@dataclass(frozen=True, slots=True)
class NetOutcome:
    """What a diff found out besides the files it showed."""

    rows_revived: bool  # a delete was taken back: rows came into sight that no commit wrote


@dataclass(frozen=True, slots=True)
class Split:
    """The manifests of two states, by where they are."""

    gone: list[ManifestFile]
    common: list[ManifestFile]
    new: list[ManifestFile]


def split_manifests(old: Iterable[ManifestFile], new: Iterable[ManifestFile], data: bool) -> Split:
    """The manifests of data files, or those of delete files, of two states."""
    olds = {m.path: m for m in old if m.is_data == data}
    news = {m.path: m for m in new if m.is_data == data}
    return Split(
        [m for path, m in olds.items() if path not in news],
        [m for path, m in news.items() if path in olds],
        [m for path, m in news.items() if path not in olds],
    )


class StateDiff:
    """The difference between two states of one table; None is the state before the first snapshot."""

    def __init__(
        self, io: FileIO, metadata: TableMetadata, start: Snapshot | None, end: Snapshot | None
    ) -> None:
        self._io = io
        self._metadata = metadata
        self._start = start
        self._old = manifests_of(io, start) if start else []
        self._new = manifests_of(io, end) if end else []
        self._data = split_manifests(self._old, self._new, data=True)
        self._deletes = split_manifests(self._old, self._new, data=False)

    def shows_appends_only(self) -> bool:
        """Whether the manifest lists agree that nothing was removed between the two states."""
        removes = any(manifest.deleted_files != 0 for manifest in self._data.new)
        return not removes and not self._deletes.gone and not self._deletes.new

    def write_appended(self, after: StateBuilder, stats: ChangeStats, snapshot_ids: Container[int]) -> None:
        """Show what these snapshots added, where all in between are appends.

        Every file knows which snapshot added it, so manifests of the older state stay closed, also
        where a commit merged them into new ones.
        """
        closed = self._show_closed(after, stats, entries_count=False)
        for manifest in self._open(m for m in self._data.new if m.path not in closed):
            after.copy(manifest, lambda entry: entry.snapshot_id in snapshot_ids)

    def write(
        self,
        after: StateBuilder,
        before: StateBuilder | None,
        stats: ChangeStats,
        effects: Sequence[SnapshotEffect] = (),
        look_at_all: bool = False,
    ) -> NetOutcome:
        """Show the difference in two tables; `before` may be left out where nothing can be removed.

        `effects` of the snapshots in between, where they are known, help to see rewrites for what
        they are. `look_at_all` keeps no manifest closed, so that `after` knows all of its files.
        """
        added, removed = self._changed_deletes()
        matcher = DeleteMatcher([*added, *removed], self._metadata)
        old_numbers = self._numbers(self._data.gone)
        old_paths = set(old_numbers)
        undone = self._undo_rewrites(effects, old_paths)
        closed = self._show_closed(after, stats, bool(old_numbers or matcher or look_at_all))
        moved, touched = self._show_new(after, closed, old_numbers, undone.hidden_after, matcher)
        self._show_restored(after, undone)
        if before is not None:
            touched |= self._show_common(after, before, matcher, moved, old_paths, stats)
            self._show_gone(before, old_paths - moved - undone.hidden_before, touched)
            before.add_deletes(self._io, (m for m in self._old if not m.is_data))
        after.add_deletes(self._io, (m for m in self._new if not m.is_data))
        return NetOutcome(_revives_rows(added, removed, touched))

    def _open(self, files: Iterable[ManifestFile]) -> Iterable[Manifest]:
        return load_manifests(self._io, files)

    def _numbers(self, files: Iterable[ManifestFile]) -> dict[str, int]:
        """The sequence numbers of all live files by path."""
        return {e.path: e.sequence_number for manifest in self._open(files) for e in manifest.live()}

    def _undo_rewrites(self, effects: Sequence[SnapshotEffect], old_paths: set[str]) -> Undone:
        rewrites = any(effect.operation is Operation.REPLACE for effect in effects)
        if self._start is None or not old_paths or not rewrites:
            return Undone()
        new_paths = set(self._numbers(self._data.new))
        return undo_rewrites(self._io, effects, self._start, new_paths - old_paths, old_paths - new_paths)

    def _show_restored(self, after: StateBuilder, undone: Undone) -> None:
        for file, paths in undone.restored.values():
            for manifest in self._open([file]):
                with after.rewriting(manifest) as add:
                    for entry in manifest.entries():
                        if entry.status == DELETED and entry.path in paths:
                            add(entry)

    def _changed_deletes(self) -> tuple[list[Entry], list[Entry]]:
        old = {e.identity: e for manifest in self._open(self._deletes.gone) for e in manifest.live()}
        new = {e.identity: e for manifest in self._open(self._deletes.new) for e in manifest.live()}
        added = [entry for key, entry in new.items() if key not in old]
        return added, [entry for key, entry in old.items() if key not in new]

    def _show_new(
        self,
        after: StateBuilder,
        closed: set[str],
        old_numbers: Mapping[str, int],
        hidden: set[str],
        matcher: DeleteMatcher,
    ) -> tuple[set[str], set[str]]:
        """Show added files, and files in new manifests whose deletes changed.

        Gives the paths that only moved from manifest to manifest, and those of them that are touched.
        """
        moved: set[str] = set()
        touched: set[str] = set()

        def include(entry: Entry) -> bool:
            old_number = old_numbers.get(entry.path)
            if old_number is None:
                return entry.path not in hidden
            moved.add(entry.path)
            # A file that was removed and added again is younger: older deletes do not reach it any more.
            if old_number != entry.sequence_number or (matcher and matcher.hits(entry)):
                touched.add(entry.path)
                return True
            return False

        for manifest in self._open(m for m in self._data.new if m.path not in closed):
            after.copy(manifest, include)
        return moved, touched

    def _show_closed(self, after: StateBuilder, stats: ChangeStats, entries_count: bool) -> set[str]:
        """Show new manifests without opening them where no entry matters; gives their paths."""
        if entries_count or self._deletes_reach(self._data.new):
            return set()
        to_open = show_unopened(self._data.new, after, self._metadata, stats)
        return {m.path for m in self._data.new} - {m.path for m in to_open}

    def _deletes_reach(self, data: list[ManifestFile]) -> bool:
        oldest = min((m.min_sequence_number for m in data), default=0)
        return any(not m.is_data and m.sequence_number >= oldest for m in self._new)

    def _show_common(
        self,
        after: StateBuilder,
        before: StateBuilder,
        matcher: DeleteMatcher,
        moved: set[str],
        old_paths: set[str],
        stats: ChangeStats,
    ) -> set[str]:
        """Show in both tables the files of common manifests whose deletes changed."""
        touched: set[str] = set()
        if not matcher:
            return touched
        likely = [m for m in self._data.common if matcher.may_hit(m, stats.pruner)]
        self._show_hits(likely, after, before, matcher, touched)
        # A delete names a file by its path, whatever partition it claims: look for the rest too.
        if any(path not in after.index for path in matcher.paths - touched - moved - old_paths):
            rest = [m for m in self._data.common if m not in likely and matcher.may_name(m)]
            self._show_hits(rest, after, before, matcher, touched)
        return touched

    def _show_hits(
        self,
        manifests: Iterable[ManifestFile],
        after: StateBuilder,
        before: StateBuilder,
        matcher: DeleteMatcher,
        touched: set[str],
    ) -> None:
        for manifest in self._open(manifests):
            with after.rewriting(manifest) as add_after, before.rewriting(manifest) as add_before:
                for entry in manifest.live():
                    if matcher.hits(entry):
                        touched.add(entry.path)
                        add_after(entry)
                        add_before(entry)

    def _show_gone(self, before: StateBuilder, removed: set[str], touched: set[str]) -> None:
        if not removed and not touched:
            return
        for manifest in self._open(self._data.gone):
            before.copy(manifest, lambda entry: entry.path in removed or entry.path in touched)


def _revives_rows(added: list[Entry], removed: list[Entry], touched: set[str]) -> bool:
    """Whether rows of files that stayed may be back: no deletes took the place of removed ones."""
    now = {referenced_path(entry): entry.record_count for entry in added}
    for entry in removed:
        path = referenced_path(entry)
        if path is None and touched:
            return True
        if path in touched and now.get(path, -1) < entry.record_count:
            return True
    return False
