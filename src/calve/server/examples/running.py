"""Instances, their runs and steps, and what is done to them."""

from __future__ import annotations

from typing import Any

from calve.server.examples.moments import ENDED, STARTED, action

_WORKFLOW = "/workflows/{workflow_id}"
_INSTANCE = _WORKFLOW + "/instances/{instance_id}"
_RUN = _INSTANCE + "/runs/{run_id}"
_STEP = _INSTANCE + "/steps/{step_id}"
_ATTEMPT = _RUN + "/steps/{step_id}/attempts/{attempt}"
_RUN_PLACE = _RUN.removeprefix("/workflows")
_BREAKPOINTS = "/workflows/steps/breakpoints"
_FLAT = "/views/flatten" + _RUN + "/steps/{step_id}"

_LOOP_ID = "maestro_foreach_Fx1_11_orders"
_NAME = {"workflow_id": "orders", "workflow_instance_id": 1, "workflow_run_id": 1}
_MINIMUM = {
    "value": 5,
    "type": "LONG",
    "mode": "MUTABLE",
    "source": "LAUNCH",
    "evaluated_result": 5,
    "evaluated_time": STARTED,
}
_SUM = {"total_step_count": 3, "step_overview": {"SUCCEEDED": {"cnt": 1}, "NOT_CREATED": {"cnt": 2}}}
_DOCUMENT: dict[str, Any] = {
    **_NAME,
    "workflow_uuid": "orders-2026-01-02",
    "workflow_version_id": 1,
    "run_config": {"policy": "START_FRESH_NEW_RUN", "step_params": {}},
    "params": {"minimum": _MINIMUM},
    "initiator": {"caller": "ana", "type": "MANUAL"},
    "status": "IN_PROGRESS",
    "create_time": STARTED,
    "start_time": STARTED + 20,
    "modify_time": STARTED + 20,
    "runtime_overview": _SUM,
    "paused": False,
    "blocking": False,
}
_TIMELINE = {"timeline_events": [{"type": "STATUS", "timestamp": STARTED, "status": "CREATED"}]}
_REACHED = {
    "step_aggregated_views": {
        "capture": {
            "workflow_run_id": 1,
            "status": "SUCCEEDED",
            "start_time": STARTED + 20,
            "end_time": ENDED,
        }
    },
    "workflow_instance_status": "IN_PROGRESS",
}
_PAGE_INFO = {
    "start_cursor": "1",
    "end_cursor": "1",
    "has_previous_page": False,
    "has_next_page": False,
    "start_index": 1,
}
_STEP_DOCUMENT: dict[str, Any] = {
    **_NAME,
    "step_id": "capture",
    "step_attempt_id": 1,
    "workflow_uuid": "orders-2026-01-02",
    "step_uuid": "12eefd0a-7cb0-412d-9442-6021632ff8ef",
    "workflow_version_id": 1,
    "params": {},
    "step_retry": {"error": 0, "platform": 0, "timeout": 0},
    "runtime_state": {
        "status": "SUCCEEDED",
        "create_time": STARTED + 20,
        "start_time": STARTED + 20,
        "end_time": ENDED,
        "modify_time": ENDED,
    },
    "carried": False,
    "artifacts": {},
    "transition": {"successors": {"process": "true"}},
}
_ENTRY = {
    "workflow_id": "orders",
    "instance_id": 1,
    "run_id": 1,
    "version": 1,
    "status": "IN_PROGRESS",
    "initiator": "MANUAL",
    "created_at": STARTED,
    "started_at": STARTED + 20,
    "ended_at": None,
    "error": None,
}
_LOG = {
    "workflow_id": "orders",
    "instance_id": 1,
    "run_id": 1,
    "step_id": "capture",
    "attempt_id": 1,
    "status": "SUCCEEDED",
    "text": "",
    "offset": 0,
    "next_offset": 0,
    "size": 0,
    "complete": True,
}
_START = {
    "workflow_id": "orders",
    "workflow_version_id": 1,
    "workflow_instance_id": 1,
    "workflow_run_id": 1,
    "workflow_uuid": "orders-2026-01-02",
    "status": "CREATED",
    "timeline_event": action("START", "instance 1"),
}
_STOPPED = {
    **_NAME,
    "workflow_instance_status": "STOPPED",
    "timeline_event": action("STOP", "stop instance 1"),
}
_STEP_NOW = {**_NAME, "workflow_version_id": 1, "step_id": "process"}
_BREAKPOINT = {
    "workflow_id": "orders",
    "step_id": "commit",
    "created_by": {"name": "ana"},
    "create_time": STARTED,
}
_ITERATION = {
    **_NAME,
    "step_id": "each",
    "iteration_rank": "1",
    "leaf_step_instance_ref": {
        "workflow_id": _LOOP_ID,
        "workflow_instance_id": 1,
        "workflow_run_id": 1,
    },
    "loop_params": {"region": "north"},
    "step_runtime_state": {
        "status": "SUCCEEDED",
        "create_time": STARTED,
        "start_time": STARTED,
        "end_time": ENDED,
    },
}

REQUESTS: dict[str, Any] = {
    "POST " + _WORKFLOW + "/versions/{version}/actions/start": {
        "initiator": {"type": "MANUAL"},
        "run_params": {"minimum": 5},
        "request_id": "orders-2026-01-02",
    },
    "POST " + _INSTANCE + "/actions/restart": {"restart_policy": "RESTART_FROM_BEGINNING"},
    "POST " + _STEP + "/actions/restart": {"step_run_params": {"process": {"minimum": 7}}},
    "POST " + _BREAKPOINTS: {"workflow_id": "orders", "step_id": "commit"},
    "GET /workflows/instances/inline-workflow-id": [
        {"workflow_id": "orders", "instance_id": 1, "step_id": "each"}
    ],
}
ANSWERS: dict[str, Any] = {
    "POST " + _WORKFLOW + "/versions/{version}/actions/start": _START,
    "PUT " + _WORKFLOW + "/versions/{version}/actions/activate": {
        "workflow_id": "orders",
        "workflow_version_id": 1,
        "timeline_event": action("ACTIVATE", "activated version 1"),
    },
    "PUT " + _WORKFLOW + "/actions/deactivate": {
        "workflow_id": "orders",
        "workflow_version_id": 1,
        "timeline_event": action("DEACTIVATE", "deactivated version 1"),
    },
    "PUT " + _WORKFLOW + "/actions/{action}": action("PAUSE", "pause the workflow 'orders'"),
    "GET " + _WORKFLOW + "/instances": {
        "page_info": _PAGE_INFO,
        "total_count": 1,
        "elements": [{**_DOCUMENT, "aggregated_info": _REACHED}],
    },
    "GET " + _INSTANCE: {**_DOCUMENT, "timeline": _TIMELINE, "aggregated_info": _REACHED},
    "GET " + _INSTANCE + "/runs": {"page_info": _PAGE_INFO, "total_count": 1, "elements": [_DOCUMENT]},
    "GET " + _RUN: {**_DOCUMENT, "timeline": _TIMELINE},
    "GET " + _RUN + "/summary": {
        "workflow_id": "orders",
        "instance_id": 1,
        "run_id": 1,
        "status": "IN_PROGRESS",
        "steps": {
            "capture": {
                "status": "SUCCEEDED",
                "params": {},
                "attempt_id": 1,
                "created_at": STARTED + 20,
                "started_at": STARTED + 20,
                "ended_at": ENDED,
            },
            "process": {"status": "NOT_CREATED", "params": {}},
            "commit": {"status": "NOT_CREATED", "params": {}},
        },
        "params": {"minimum": 5},
        "error": None,
        "version": 1,
        "created_at": STARTED,
        "started_at": STARTED + 20,
        "ended_at": None,
    },
    "GET /runs": {"runs": [_ENTRY], "next_cursor": None},
    "GET " + _INSTANCE + "/steps": [_STEP_DOCUMENT],
    "GET " + _STEP: _STEP_DOCUMENT,
    "GET " + _RUN + "/steps": [_STEP_DOCUMENT],
    "GET " + _ATTEMPT: _STEP_DOCUMENT,
    "GET " + _STEP + "/logs": _LOG,
    "GET " + _ATTEMPT + "/logs": _LOG,
    "POST " + _INSTANCE + "/actions/restart": {**_START, "workflow_run_id": 2},
    "PUT " + _INSTANCE + "/actions/{action}": _STOPPED,
    "PUT " + _RUN + "/actions/{action}": _STOPPED,
    "POST " + _STEP + "/actions/restart": {
        **_STEP_NOW,
        "status": "CREATED",
        "timeline_event": action("RESTART", "restart step 'process' of instance 1"),
    },
    "PUT " + _STEP + "/actions/{action}": {
        **_STEP_NOW,
        "timeline_event": action("SKIP", "skip step 'process' of instance 1"),
    },
    "POST " + _BREAKPOINTS: _BREAKPOINT,
    "GET " + _BREAKPOINTS: [_BREAKPOINT],
    "DELETE " + _BREAKPOINTS: {
        "workflow_id": "orders",
        "step_id": "commit",
        "timeline_event": action("RESUME", "deleted the breakpoint on step 'commit'; 0 attempts go on"),
    },
    "GET " + _BREAKPOINTS + "/paused-step-attempts": [
        {
            **_NAME,
            "step_id": "commit",
            "workflow_version_id": 1,
            "step_attempt_id": 1,
            "create_time": STARTED,
        }
    ],
    f"PUT {_BREAKPOINTS}{_RUN_PLACE}/steps/{{step_id}}/attempts/{{attempt_id}}/actions/resume": {
        **_STEP_NOW,
        "timeline_event": action("RESUME", "resume step 'process' of instance 1"),
    },
    "GET /workflows/instances/inline-workflow-id": _LOOP_ID,
    "GET " + _INSTANCE + "/inline-path": [
        {"workflow_id": "orders", "instance_id": 1, "run_id": 1, "step_id": "each"},
        {"workflow_id": _LOOP_ID, "instance_id": 1, "run_id": 1},
    ],
    "GET " + _FLAT: {
        "page_info": {
            "start_cursor": "1",
            "end_cursor": "1",
            "has_previous_page": False,
            "has_next_page": False,
        },
        "elements": [_ITERATION],
    },
    "GET " + _FLAT + "/iterations/{rank}": _ITERATION,
    "GET " + _FLAT + "/summary": {
        "representative_iteration": _ITERATION,
        "count_by_status": {"SUCCEEDED": 1},
        "total_count": 1,
        "loop_param_values": {"region": ["north"]},
    },
}
