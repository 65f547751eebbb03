"""How much of a table's history waits to be processed, from the snapshots' own summaries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from calve.lake.history import trace
from calve.lake.model import Segment
from calve.lake.tables import SourceTable


@dataclass(frozen=True, slots=True)
class Lag:
    """What waits. Files, records and bytes are those that were added."""

    snapshots: int
    files: int
    records: int
    bytes: int
    oldest_timestamp_ms: int | None


def measure_lag(table: SourceTable, segments: Iterable[Segment]) -> Lag:
    """The lag over some stretches of history. Opens no file but the table's metadata."""
    waiting = [snapshot for segment in segments for snapshot in trace(table.metadata, segment).snapshots]
    counts = [
        sum(int(snapshot.summary.get(key, 0)) for snapshot in waiting)
        for key in ("added-data-files", "added-records", "added-files-size")
    ]
    oldest = min((snapshot.timestamp_ms for snapshot in waiting), default=None)
    return Lag(len(waiting), counts[0], counts[1], counts[2], oldest)
