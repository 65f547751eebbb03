"""What a capture has of each of its tables."""

from __future__ import annotations

from calve.lake import Amount, Changes, Lake
from calve.lake.lookback import Lookback
from calve.ledger.records import CaptureRecord, SourceRecord
from calve.server.dependencies import Json
from calve.ui.views.captures.files import show_files

#: So many changed partitions are named.
PARTITIONS = 100


def show_sources(lake: Lake, record: CaptureRecord) -> list[Json]:
    """Each source with its stretches, and with what was written for them once that is done."""
    measures = record.lookback or (None,) * len(record.sources)
    is_dropped = record.dropped_at is not None
    return [
        _show(lake, source, lookback, is_dropped)
        for source, lookback in zip(record.sources, measures, strict=True)
    ]


def _show(lake: Lake, source: SourceRecord, lookback: Lookback | None, is_dropped: bool) -> Json:
    changes = source.changes
    return {
        "table": source.table_name,
        "alias": source.alias,
        "branch": source.branch,
        "table_uuid": source.table_uuid,
        "segments": [[x.from_snapshot_exclusive, x.to_snapshot_inclusive] for x in source.segments],
        "changes": None if changes is None else _changes(changes),
        "lookback": None if lookback is None else _lookback(lookback, changes),
        "files": None if changes is None else show_files(lake, changes, is_dropped),
    }


def _changes(changes: Changes) -> Json:
    told = changes.to_json()
    return {
        **told,
        "ranges": [{"column": name, **bounds} for name, bounds in told["ranges"].items()],
        "partitions": told["partitions"][:PARTITIONS],
        "partition_count": len(told["partitions"]),
    }


def _lookback(lookback: Lookback, changes: Changes | None) -> Json:
    """What the window would have read, and how much of it the capture saved."""
    told = lookback.to_json()
    if lookback.amount is None or changes is None:
        return {**told, "saved": None}
    read = Amount(
        changes.files + changes.removed_files,
        changes.records + changes.removed_records,
        changes.bytes + changes.removed_bytes,
    )
    return {**told, "saved": (lookback.amount - read).to_json()}
