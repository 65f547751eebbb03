"""Workflows, as they are pushed and looked at."""

from __future__ import annotations

from typing import Any

from calve.server.examples.moments import PUSHED, STARTED, action

SQL = "INSERT INTO db.report SELECT * FROM ${capture__icdc_table}"
YAML = f"""\
Properties: {{owner: ana}}
Trigger: {{incremental: true}}
Workflow:
  id: orders
  name: Orders by day
  tags: [sales]
  minimum: 1
  jobs:
    - job: {{id: capture, type: IpCapture, ip_capture: {{source_tables: [db.orders], on_empty: skip}}}}
    - job: {{id: process, type: Spark, script: "{SQL}"}}
    - job: {{id: commit, type: IpCommit, ip_commit: {{capture_step: capture}}}}
  dag: sequential
"""
_TEXT: dict[str, Any] = {"type": "STRING"}
_GREET: dict[str, Any] = {"id": "greet", "type": "Shell", "params": {"script": {"value": "echo hi", **_TEXT}}}
DEFINITION: dict[str, Any] = {
    "properties": {"owner": "ana"},
    "workflow": {"id": "hello", "name": "Hello", "tags": ["trial"], "steps": [{"step": _GREET}]},
}
_SNAPSHOT = {"workflow_id": "hello", "snapshot_id": 1, "owner": "ana"}
_VERSION: dict[str, Any] = {
    "properties_snapshot": _SNAPSHOT,
    "metadata": {
        "workflow_id": "hello",
        "workflow_version_id": 1,
        "create_time": PUSHED,
        "version_author": {"name": "ana"},
    },
    "workflow": DEFINITION["workflow"],
    "is_active": True,
    "is_latest": True,
    "is_default": True,
    "modify_time": PUSHED,
}
_PUSHED = {"workflow_definition": _VERSION, "workflow_id": "hello", "version": 1, "warnings": []}
_VALID = {
    "type": "LOG",
    "timestamp": PUSHED,
    "level": "INFO",
    "message": "the definition of 'hello' is valid",
    "warnings": [],
}
_CHANGED = {
    "workflow_id": "hello",
    "snapshot_id": 2,
    "create_time": PUSHED,
    "author": {"name": "ana"},
    "owner": "ana",
}
_ENTRY = {
    "workflow_id": "orders",
    "name": "Orders by day",
    "owner": "ana",
    "tags": ["sales"],
    "active_version_id": 1,
    "latest_version_id": 1,
    "latest_instance_id": 1,
    "paused": False,
    "latest_run": {
        "workflow_instance_id": 1,
        "workflow_run_id": 1,
        "status": "IN_PROGRESS",
        "create_time": STARTED,
        "start_time": STARTED + 20,
        "end_time": None,
    },
    "create_time": PUSHED,
    "modify_time": STARTED,
}
_TRIGGER = {
    "trigger_uuid": "99914b93-2bd3-3a50-b983-c5e7c90ae93b",
    "is_active": True,
    "definition": {},
    "seen": {},
    "workflow_instance_id": None,
    "start_time": None,
    "waiting_since": None,
    "waits": [1200, 900],
    "falls_behind": False,
    "decision": None,
    "decision_time": None,
}
_PAGE_INFO = {
    "start_cursor": "1",
    "end_cursor": "1",
    "has_previous_page": False,
    "has_next_page": False,
    "start_index": 1,
}

REQUESTS: dict[str, Any] = {
    "PUT /workflows/actions/validate/yaml": YAML,
    "PUT /workflows/actions/validate": DEFINITION,
    "POST /workflows/yaml": YAML,
    "POST /workflows": DEFINITION,
    "POST /workflows/batch": [DEFINITION],
    "POST /workflows/{workflow_id}/properties": {
        "description": "Says hello",
        "step_concurrency": 5,
    },
    "POST /workflows/{workflow_id}/properties/tag": {"name": "nightly"},
}
ANSWERS: dict[str, Any] = {
    "GET /workflows": {"workflows": [_ENTRY], "next_cursor": None},
    "POST /workflows": _PUSHED,
    "POST /workflows/yaml": _PUSHED,
    "POST /workflows/batch": {"pushed": [{"workflow_id": "hello", "version": 1}]},
    "PUT /workflows/actions/validate": _VALID,
    "PUT /workflows/actions/validate/yaml": _VALID,
    "DELETE /workflows/{workflow_id}": action("DELETE", "deleted the workflow 'hello'"),
    "GET /workflows/{workflow_id}/overview": {
        "workflow_id": "hello",
        "active_version_id": 1,
        "latest_version_id": 1,
        "default_version_id": 1,
        "properties_snapshot": _SNAPSHOT,
        "step_concurrency": 20,
        "nonterminal_instances": {},
        "failed_instances": 0,
        "latest_instance_id": 0,
        "paused": False,
    },
    "GET /workflows/{workflow_id}/timeline": {
        "workflow_id": "hello",
        "timeline_events": [
            {
                "author": {"name": "ana"},
                "log": "action: pushed, version: 1, active: True",
                "timestamp": PUSHED,
                "action": "pushed",
                "version": 1,
                "active": True,
            }
        ],
    },
    "GET /workflows/{workflow_id}/triggers": {
        "workflow_id": "orders",
        "time_triggers": [],
        "signal_triggers": [],
        "incremental_triggers": [_TRIGGER],
        "refusals": [],
    },
    "GET /workflows/{workflow_id}/versions/pagination": {
        "page_info": _PAGE_INFO,
        "total_count": 1,
        "elements": [_VERSION],
    },
    "GET /workflows/{workflow_id}/versions/{version}": _VERSION,
    "GET /workflows/{workflow_id}/properties-snapshot/{snapshot}": _CHANGED,
    "POST /workflows/{workflow_id}/properties": _CHANGED,
    "POST /workflows/{workflow_id}/properties/tag": {**_CHANGED, "tags": ["nightly"]},
    "DELETE /workflows/{workflow_id}/properties/tag/{name}": _CHANGED,
}
