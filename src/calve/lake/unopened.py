"""Manifests that can be shown without being opened, which is most of them when a table only grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calve.lake.history import only_appends_by_name
from calve.lake.icdc import StateBuilder
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import TableMetadata
from calve.lake.stats import ChangeStats


def show_unopened(
    manifests: Iterable[ManifestFile], builder: StateBuilder, metadata: TableMetadata, stats: ChangeStats
) -> list[ManifestFile]:
    """Show what can be shown as it is; give back the manifests whose entries must be seen.

    A manifest is left closed if it only adds files, if its counts tell the rows and its
    snapshot's summary the bytes, and if the manifest list shows the partitions of its files.
    """
    by_snapshot: dict[int, list[ManifestFile]] = {}
    for manifest in manifests:
        by_snapshot.setdefault(manifest.added_snapshot_id, []).append(manifest)
    to_open: list[ManifestFile] = []
    for snapshot_id, written in by_snapshot.items():
        size = added_bytes(metadata, snapshot_id, written)
        if size is None or not stats.add_unopened(written, _changed_partitions(metadata, snapshot_id)):
            to_open += written
            continue
        for manifest in written:
            builder.keep(manifest)
            builder.totals.files += manifest.added_files or 0
            builder.totals.records += manifest.added_rows or 0
        builder.totals.bytes += size
    return to_open


def _changed_partitions(metadata: TableMetadata, snapshot_id: int) -> str | None:
    """How many partitions a snapshot added to; None where that is not what its summary counts."""
    snapshot = metadata.snapshot(snapshot_id)
    return snapshot.summary.get("changed-partition-count") if only_appends_by_name([snapshot]) else None


def added_bytes(metadata: TableMetadata, snapshot_id: int, written: Sequence[ManifestFile]) -> int | None:
    """The bytes that a snapshot added, if these manifests are all it added and its summary agrees."""
    if not metadata.has_snapshot(snapshot_id) or not all(manifest.adds_only for manifest in written):
        return None
    summary = metadata.snapshot(snapshot_id).summary
    claimed = [summary.get(key) for key in ("added-data-files", "added-records", "added-files-size")]
    files = sum(manifest.added_files or 0 for manifest in written)
    rows = sum(manifest.added_rows or 0 for manifest in written)
    if claimed[:2] != [str(files), str(rows)] or claimed[2] is None:
        return None
    return int(claimed[2])
