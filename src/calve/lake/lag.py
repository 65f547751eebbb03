"""How much of a table's history waits to be processed, from the snapshots' own summaries."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from calve.lake.amounts import Amount, added_by, count
from calve.lake.history import trace
from calve.lake.metadata import Snapshot
from calve.lake.model import Operation, Segment
from calve.lake.tables import SourceTable

_WENT = ("deleted-data-files", "added-delete-files", "removed-delete-files")


@dataclass(frozen=True, slots=True)
class Lag:
    """What waits. Files, records and bytes are those that were added."""

    snapshots: int
    files: int
    records: int
    bytes: int
    oldest_timestamp_ms: int | None


NO_LAG = Lag(snapshots=0, files=0, records=0, bytes=0, oldest_timestamp_ms=None)


def measure_lag(
    table: SourceTable, segments: Iterable[Segment], operations: Collection[Operation] | None = None
) -> Lag:
    """The lag over some stretches of history; with `operations`, of the snapshots that did one of these.

    Opens no file but the table's metadata.
    """
    waiting = [
        snapshot
        for segment in segments
        for snapshot in trace(table.metadata, segment).snapshots
        if operations is None or summary_operation(snapshot) in operations
    ]
    added = sum(map(added_by, waiting), Amount())
    oldest = min((snapshot.timestamp_ms for snapshot in waiting), default=None)
    return Lag(len(waiting), added.files, added.records, added.bytes, oldest)


def summary_operation(snapshot: Snapshot) -> Operation:
    """What a snapshot did, as its summary counts it; by the name it was given where it counts nothing."""
    added_rows, deleted_rows = count(snapshot, "added-records"), count(snapshot, "deleted-records")
    if snapshot.operation == "replace" and added_rows <= deleted_rows:
        return Operation.REPLACE
    came = count(snapshot, "added-data-files") > 0
    if any(count(snapshot, key) > 0 for key in _WENT):
        return Operation.OVERWRITE if came else Operation.DELETE
    if came:
        return Operation.APPEND
    named = {found.value: found for found in Operation}
    return named.get(snapshot.operation or "", Operation.APPEND)
