"""The files that a capture shows, from the metadata of its ICDC table."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

from calve.errors import CalveError
from calve.lake import Changes, Lake
from calve.lake.history import manifests_of
from calve.lake.locating import guarded
from calve.lake.stats import describe_partition
from calve.lake.storage import load_manifests
from calve.lake.tables import read_table
from calve.server.dependencies import Json

LIMIT = 200


def show_files(lake: Lake, changes: Changes, is_dropped: bool) -> Json:
    """The first files of a change, or why they cannot be told."""
    location = changes.icdc_metadata_location
    if is_dropped or location is None:
        return _without("Its ICDC table is dropped, and the list of its files went with it.")
    found = guarded(partial(_read, lake, changes.table, location), f"the ICDC table of {changes.table}")
    if isinstance(found, CalveError):
        return _without(found.message)
    return {"files": found[:LIMIT], "is_cut": len(found) > LIMIT, "why_not": None}


def _without(why: str) -> Json:
    return {"files": [], "is_cut": False, "why_not": why}


def _read(lake: Lake, source: str, location: str) -> list[Json]:
    """One file more than are shown, so that it can be told whether there are more."""
    table = read_table(lake, lake.resolve(source), location, None)
    head = table.metadata.current_snapshot_id()
    if head is None:
        return []
    data = [x for x in manifests_of(table.io, table.metadata.snapshot(head)) if x.is_data]
    entries = (entry for manifest in load_manifests(table.io, data) for entry in manifest.live())
    return [
        {
            "path": entry.path,
            "rows": entry.record_count,
            "bytes": entry.file_size,
            "partition": _texts(describe_partition(table.metadata, entry.spec_id, entry.partition)),
        }
        for entry in islice(entries, LIMIT + 1)
    ]


def _texts(partition: dict[str, Any]) -> dict[str, str | None]:
    return {name: None if value is None else str(value) for name, value in partition.items()}
