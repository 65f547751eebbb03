"""Row lineage (format 3): when it tells changed rows from carried ones, and the filter that says so."""

from __future__ import annotations

import re

from calve.lake.history import Stretch
from calve.lake.manifest import VALUE_COUNTS, Entry
from calve.lake.metadata import Snapshot, TableMetadata

_VERSION = re.compile(r"Apache Iceberg (\d+)\.(\d+)")
#: In the summary of a snapshot whose files were written for another place in history: their update
#: numbers say nothing about when their rows came here.
MOVED_PROPERTY = "calve.moved-files"
#: The column in which a file keeps the update numbers of rows that were carried over from others.
_UPDATE_NUMBER = 2147483539
#: The first release in which rewrites keep row ids and inherit update numbers as the format says.
_TRUSTED = (1, 12)


def lineage_position(metadata: TableMetadata, stretch: Stretch) -> dict[str, int] | None:
    """What row ids and update numbers are new after the start of a stretch, if they can be trusted.

    That needs a start that had row ids already, an unbroken line from it, and writers that keep
    ids when they rewrite rows.
    """
    start_id = stretch.segment.from_snapshot_exclusive
    if metadata.format_version < 3 or start_id is None or not stretch.complete:
        return None
    if not metadata.has_snapshot(start_id) or not all(map(_keeps_lineage, stretch.snapshots)):
        return None
    start = metadata.snapshot(start_id)
    if start.first_row_id is None:
        return None
    return {
        "sequence_number": start.sequence_number,
        "next_row_id": start.first_row_id + (start.added_rows or 0),
    }


def stores_old_numbers(entry: Entry, metadata: TableMetadata) -> bool:
    """Whether a file that an append added holds rows from elsewhere: one that was removed, and came back.

    Writers that carry rows over store their numbers; an append has nothing to carry over.
    """
    if metadata.format_version < 3 or not metadata.has_snapshot(entry.snapshot_id):
        return False
    is_append = metadata.snapshot(entry.snapshot_id).operation == "append"
    return is_append and entry.count_of(VALUE_COUNTS, _UPDATE_NUMBER) is not None


def _keeps_lineage(snapshot: Snapshot) -> bool:
    if MOVED_PROPERTY in snapshot.summary:
        return False
    if snapshot.operation == "append":
        return True
    match = _VERSION.search(snapshot.summary.get("iceberg-version", ""))
    return match is not None and (int(match[1]), int(match[2])) >= _TRUSTED


def row_filter(position: dict[str, int] | None) -> str | None:
    """The SQL condition that narrows the touched files to the rows that changed."""
    return None if position is None else f"_last_updated_sequence_number > {position['sequence_number']}"
