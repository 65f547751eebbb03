"""Tables: lag, completeness, lineage."""

from __future__ import annotations

from typing import Any

from calve.server.examples.moments import PUSHED

_VALID_THROUGH = {
    "table": "lake.db.orders",
    "valid_through": PUSHED,
    "valid_through_time": "2026-01-02T06:00:00.000Z",
    "published_at": PUSHED + 500,
}
_EDGES: list[dict[str, Any]] = [
    {"from": "table:lake.db.orders", "to": "workflow:orders", "kind": "reads", "how": ["capture"]},
    {
        "from": "workflow:orders",
        "to": "table:lake.db.report",
        "kind": "writes",
        "how": ["sql"],
        "writes": ["insert"],
    },
]
_WAYS = {
    "upstream": {"tables": ["lake.db.orders"], "workflows": ["orders"]},
    "downstream": {"tables": [], "workflows": []},
    "edges": _EDGES,
    "unknown": {},
}
_WORKFLOW: dict[str, Any] = {
    "workflow_id": "orders",
    "version": 1,
    "reads": [{"table": "lake.db.orders", "steps": ["capture", "process"], "how": ["capture"]}],
    "writes": [
        {
            "table": "lake.db.report",
            "steps": ["process"],
            "kinds": ["insert"],
            "how": ["sql"],
            "by_spark": True,
        }
    ],
    "captures": [
        {
            "step_id": "capture",
            "consumer": "orders/capture",
            "operations": ["append"],
            "mode": "ICDC",
            "tables": ["lake.db.orders"],
        }
    ],
    "calls": [],
    "columns": [],
    "unknown": [],
}

REQUESTS: dict[str, Any] = {
    "PUT /tables/{table}/valid-through": {"valid_through": "2026-01-02T06:00:00Z"},
}
ANSWERS: dict[str, Any] = {
    "GET /lag": {
        "lag": [
            {
                "consumer": "orders/capture",
                "table": "lake.db.orders",
                "table_uuid": "5d9f65ff-7684-4745-a92b-007d5d9e1378",
                "branch": "main",
                "checkpoint_snapshot_id": 8983744150483577584,
                "current_snapshot_id": 3952974983279985555,
                "snapshots": 1,
                "files": 2,
                "records": 1800,
                "bytes": 92900,
                "seconds": 11.3,
                "open_captures": [],
                "gaps": 0,
                "error": None,
            }
        ]
    },
    "GET /tables/{table}/valid-through": _VALID_THROUGH,
    "PUT /tables/{table}/valid-through": _VALID_THROUGH,
    "GET /lineage": {
        "nodes": [
            {"id": "table:lake.db.orders", "kind": "table", "name": "lake.db.orders"},
            {"id": "table:lake.db.report", "kind": "table", "name": "lake.db.report"},
            {"id": "workflow:orders", "kind": "workflow", "name": "orders", "version": 1, "unknown": []},
        ],
        "edges": _EDGES,
        "columns": [],
        "cycles": [],
    },
    "GET /lineage/tables/{table}": {"kind": "table", "name": "lake.db.report", **_WAYS},
    "GET /lineage/workflows/{workflow_id}": {
        "kind": "workflow",
        "name": "orders",
        "workflow": _WORKFLOW,
        "upstream": {"tables": ["lake.db.orders"], "workflows": []},
        "downstream": {"tables": ["lake.db.report"], "workflows": []},
        "edges": _EDGES,
        "unknown": {},
    },
}
