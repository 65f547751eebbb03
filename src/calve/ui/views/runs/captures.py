"""What the capture steps of an instance have captured."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from calve.engine.views.documents import Json
from calve.lake.model import Changes
from calve.ledger.records import CaptureRecord, SourceRecord
from calve.ledger.rows import read_captures
from calve.state.schema import captures
from calve.steps.incremental.naming import run_ref_of
from calve.ui.addresses import capture_address, table_address
from calve.ui.views.captures.runs import run_of


def find_captures(
    connection: Connection, workflow_id: str, instance_id: int, step_ids: Iterable[str]
) -> list[Json]:
    """The captures of some steps of an instance, by age: all its runs share them."""
    refs = [run_ref_of(workflow_id, instance_id, step_id) for step_id in step_ids]
    found = read_captures(connection, captures.c.run_ref.in_(refs)) if refs else []
    return [_describe(record) for record in found]


def _describe(record: CaptureRecord) -> Json:
    place = run_of(record.run_ref)
    return {
        "id": record.id,
        "href": capture_address(record.id),
        "step_id": None if place is None else place["step_id"],
        "status": record.status.value.upper(),
        "consumer": record.consumer,
        "created_at": record.created_at,
        "committed_at": record.committed_at,
        "has_changes": any(changes.has_changes for changes in record.changes),
        "is_ready": record.ready_at is not None,
        "sources": [_source(source) for source in record.sources],
    }


def _source(source: SourceRecord) -> Json:
    changes = source.changes
    return {
        "table": source.table_name,
        "href": table_address(source.table_name),
        "branch": source.branch,
        "amount": None if changes is None else _amount(changes),
        "ranges": [] if changes is None else [
            {"column": name, **found.to_json()} for name, found in changes.ranges.items()
        ],
    }  # fmt: skip


def _amount(changes: Changes) -> Json:
    return {
        "has_changes": changes.has_changes,
        "files": changes.files,
        "rows": changes.records,
        "bytes": changes.bytes,
        "removed_files": changes.removed_files,
        "removed_rows": changes.removed_records,
        "removed_bytes": changes.removed_bytes,
    }
