"""Backfills: plans, and how they stand."""

from __future__ import annotations

from typing import Any

_CHUNK = {"files": 1, "records": 900, "bytes": 46_000}
_PLAN: dict[str, Any] = {
    "workflow_id": "orders",
    "column": "day",
    "kind": "date",
    "chunk": "day",
    "lower": "2026-01-01",
    "upper": "2026-01-03",
    "order": "newest",
    "on_branch": True,
    "params": {},
    "stages": [
        {
            "workflow_id": "orders",
            "version": 1,
            "feeding": "range",
            "after": [],
            "sources": [
                {
                    "table": "lake.db.orders",
                    "uuid": "e9d68076-832f-4cfa-bdb8-4922f2ec264c",
                    "column": "day",
                    "consumers": ["orders/capture"],
                }
            ],
            "targets": [
                {
                    "table": "lake.db.report",
                    "uuid": "ad85af43-7407-416e-8df3-483abd6f4e22",
                    "schema_id": 0,
                    "clear_column": "day",
                    "why_not_cleared": None,
                }
            ],
            "chunks": [
                {"lower": "2026-01-01", "upper": "2026-01-02", **_CHUNK},
                {"lower": "2026-01-02", "upper": "2026-01-03", **_CHUNK},
            ],
            "served": [],
            "rows_per_second": None,
        }
    ],
    "validation": {"keys": {}, "audits": {}, "thresholds": {}, "samples": 5},
    "warnings": [],
}
_PLANNED = {
    "backfill_id": 1,
    "status": "PLANNED",
    "plan": _PLAN,
    "explanation": [
        "Backfill of orders: 2026-01-01 to before 2026-01-03 of day, by day",
        "Chunks begin with the newest; results are written on branches, published when validated.",
        "",
        "1. orders (version 1)",
        "   gets: all live rows of the range",
        "   reads: lake.db.orders by day",
        "   changes: lake.db.report, emptied of the range first",
        "   chunks: 2 (2026-01-01 to before 2026-01-02, 2026-01-02 to before 2026-01-03)",
        "   to read: 2 files, 1,800 rows, 92.0 kB",
    ],
}
_SUMMARY: dict[str, Any] = {
    "backfill_id": 1,
    "status": "PLANNED",
    "workflow_id": "orders",
    "column": "day",
    "from": "2026-01-01",
    "to": "2026-01-03",
    "reason": "orders were loaded twice",
    "author": "ana",
    "on_branch": True,
    "auto_publish": False,
    "concurrency": 2,
    "driver": {"workflow_id": "backfill-1", "instance_id": None},
    "created_at": "2026-01-02T06:00:00.000Z",
    "started_at": None,
    "ended_at": None,
}
_STATUS: dict[str, Any] = {
    **_SUMMARY,
    "stages": [
        {
            "stage": 0,
            "workflow_id": "orders",
            "version": 1,
            "feeding": "range",
            "after": [],
            "phase": "PLANNED",
            "round": 1,
            "branch": None,
            "chunks": {},
            "done": 0,
            "total": 2,
            "seconds_left": None,
            "targets": {},
            "validation": None,
            "chunk_list": [],
        }
    ],
    "waiting_for_approval": False,
    "seconds_left": None,
    "warnings": [],
}
_REPORT = """\
# Backfill 1 of orders

- status: PLANNED
- range: 2026-01-01 to before 2026-01-03 of `day`
- by: ana
"""

REQUESTS: dict[str, Any] = {
    "POST /backfills": {
        "workflow_id": "orders",
        "from": "2026-01-01",
        "to": "2026-01-03",
        "reason": "orders were loaded twice",
    },
    "POST /backfills/{backfill_id}/actions/{action}": {"concurrency": 4},
}
ANSWERS: dict[str, Any] = {
    "POST /backfills": _PLANNED,
    "GET /backfills": {"backfills": [_SUMMARY], "next_cursor": None},
    "GET /backfills/{backfill_id}": _STATUS,
    "GET /backfills/{backfill_id}/plan": _PLANNED,
    "GET /backfills/{backfill_id}/report": {"markdown": _REPORT, "status": _STATUS},
    "POST /backfills/{backfill_id}/actions/{action}": {**_STATUS, "concurrency": 4},
}
