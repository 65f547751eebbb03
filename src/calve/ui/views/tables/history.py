"""The captures of a table, the newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from calve.engine.views.numbers import is_number
from calve.errors import UsageError
from calve.ledger.listing import CaptureHead, newest_captures
from calve.ledger.records import Position
from calve.server.dependencies import Json
from calve.ui.views.captures.runs import run_of

PAGE = 20


def show_captures(connection: Connection, positions: Sequence[Position], before: str) -> Json:
    """A page of captures at some positions, and the cursor of the next one."""
    found = newest_captures(connection, positions, PAGE + 1, _parse(before))
    shown = found[:PAGE]
    return {
        "captures": [_show(head) for head in shown],
        "older": f"{shown[-1].created_at}.{shown[-1].id}" if len(found) > PAGE else None,
    }


def _show(head: CaptureHead) -> Json:
    return {
        "id": head.id,
        "consumer": head.consumer,
        "status": head.status.upper(),
        "run": run_of(head.run_ref),
        "created_at": head.created_at,
        "ended_at": head.ended_at,
        "to_snapshot_ids": sorted(
            {
                segments[-1].to_snapshot_inclusive
                for segments in head.segments.values()
                if segments and segments[-1].to_snapshot_inclusive is not None
            }
        ),
    }


def _parse(before: str) -> tuple[int, str] | None:
    if not before:
        return None
    at, _, capture_id = before.partition(".")
    if not (is_number(at) and capture_id):
        raise UsageError("PAGE_INVALID", f"found the cursor {before!r}", "use `older` of a page")
    return int(at), capture_id
