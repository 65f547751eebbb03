"""Whether the files of a change are still there, and how long they will be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from pyiceberg.io import FileIO

from calve.errors import CorruptError, RefusedError
from calve.lake.catalogs import Lake
from calve.lake.history import trace
from calve.lake.manifest import Entry
from calve.lake.metadata import TableMetadata
from calve.lake.model import Changes
from calve.lake.storage import load_manifest_list, load_manifests, map_files, read_json
from calve.lake.tables import SourceTable, open_table

_EXPIRY = "history.expire.max-snapshot-age-ms"
_SHORT = timedelta(days=1)


def check_reachable(table: SourceTable, needed: Sequence[int]) -> SourceTable:
    """Raise FILES_EXPIRED if the source dropped a snapshot that is needed since the table was opened.

    Gives the source as it is now. A file stays as long as any snapshot that has it stays.
    """
    current = table.refresh()
    if current is table:
        return current
    if current.uuid != table.uuid or not all(map(current.metadata.has_snapshot, needed)):
        raise _expired(str(table.name), "snapshots of the range expired while it was captured")
    return current


def verify_changes(lake: Lake, changes: Changes) -> None:
    """Raise FILES_EXPIRED if a file that the change shows is gone."""
    table = open_table(lake, changes.table)
    if table.uuid == changes.table_uuid and _history_is_whole(table.metadata, changes):
        return
    for location in (changes.icdc_metadata_location, changes.removed_metadata_location):
        if location is not None:
            _check_files(table.io, location, changes)


def _history_is_whole(metadata: TableMetadata, changes: Changes) -> bool:
    for segment in changes.segments:
        if segment.to_snapshot_inclusive is None:
            continue
        if not metadata.has_snapshot(segment.to_snapshot_inclusive):
            return False
        start = segment.from_snapshot_exclusive
        if changes.removed_metadata_location and start is not None and not metadata.has_snapshot(start):
            return False
        if not trace(metadata, segment).complete:
            return False
    return True


def _check_files(io: FileIO, metadata_location: str, changes: Changes) -> None:
    metadata = TableMetadata(read_json(io, metadata_location), metadata_location)
    try:
        paths = sorted({entry.path for entry in _entries(io, metadata)})
    except CorruptError as error:
        # A manifest of the source that the change shows as it is may expire as well.
        if error.code != "METADATA_MISSING":
            raise
        raise _expired(changes.table, error.message) from error
    exists = map_files(lambda path: io.new_input(path).exists(), paths, paths[0] if paths else "")
    missing = [path for path, there in zip(paths, exists, strict=True) if not there]
    if missing:
        raise _expired(
            changes.table, f"{len(missing)} of {len(paths)} files are gone, {missing[0]} among them"
        )


def _entries(io: FileIO, metadata: TableMetadata) -> Iterator[Entry]:
    for raw in metadata.raw["snapshots"]:
        for manifest in load_manifests(io, load_manifest_list(io, raw["manifest-list"])):
            yield from manifest.live()


def _expired(table: str, what: str) -> RefusedError:
    return RefusedError(
        "FILES_EXPIRED",
        f"the change of {table} cannot be read any more: {what}",
        f"release the capture and capture again; keep snapshots longer with the table property {_EXPIRY}",
    )


def expiry_warnings(table: SourceTable) -> tuple[str, ...]:
    """What to know about a source that expires its snapshots soon."""
    age = table.metadata.properties.get(_EXPIRY)
    if age is None or not age.isdigit() or timedelta(milliseconds=int(age)) >= _SHORT:
        return ()
    kept = timedelta(milliseconds=int(age))
    return (f"{table.name} keeps snapshots for {kept} only ({_EXPIRY}={age}); a run must end before that",)
