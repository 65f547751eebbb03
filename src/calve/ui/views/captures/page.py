"""The page of a capture."""

from __future__ import annotations

from calve.ledger.records import CaptureRecord, Status
from calve.ledger.transact import require_capture
from calve.ledger.writes import Write, writes_of
from calve.server.dependencies import Json, Orchestrating
from calve.ui.commands import command
from calve.ui.pages import Pages
from calve.ui.views.captures.runs import run_of
from calve.ui.views.captures.sources import show_sources
from calve.ui.views.tables.opening import ledger_for

pages = Pages()


@pages.page("/captures/{capture_id}", "capture.html")
def capture_page(orchestrator: Orchestrating, capture_id: str) -> Json:
    """A capture: what it took of which tables, what it shows, what was written under it."""
    with orchestrator.database.read() as connection:
        record = require_capture(connection, capture_id)
        writes = writes_of(connection, capture_id)
    return {
        "id": record.id,
        "consumer": record.consumer,
        "status": record.status.value.upper(),
        "owner": record.owner,
        "run": run_of(record.run_ref),
        "run_ref": record.run_ref,
        "mode": record.options.mode.value,
        "is_fixed": record.is_fixed,
        "keep": record.keep,
        "is_dropped": record.dropped_at is not None,
        "outcome": None if record.outcome is None else dict(record.outcome),
        "expires_at": record.expires_at,
        "life": _life(record),
        "sources": show_sources(ledger_for(orchestrator).lake, record),
        "writes": [_write(write) for write in writes],
        "command": command("verify", record.id),
    }


def _life(record: CaptureRecord) -> list[Json]:
    """The way of the capture: what it has been through, and what is still to come."""
    ends = {
        Status.COMMITTED: ("committed", record.committed_at),
        Status.RELEASED: ("released", record.released_at),
        Status.FAILED: ("failed", record.failed_at),
        Status.OPEN: ("committed", None),
    }
    stages = [
        ("reserved", record.created_at),
        ("ready", record.ready_at),
        ends[record.status],
        ("dropped", record.dropped_at),
    ]
    if record.status is Status.FAILED:
        stages = [stage for stage in stages if stage[1] is not None]
    return [{"name": name, "at": at} for name, at in stages]


def _write(write: Write) -> Json:
    return {
        "statement": write.statement,
        "target": write.target,
        "begun_at": write.begun_at,
        "landed_at": write.landed_at,
        "snapshot_id": write.snapshot_id,
    }
