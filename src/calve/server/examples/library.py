"""Signals, events, job templates, limits, and what external jobs give back."""

from __future__ import annotations

from typing import Any

from calve.server.examples.moments import PUSHED, STARTED

_SIGNAL = {
    "name": "orders.arrived",
    "seq_id": 1,
    "instance_id": "555ccf0a-c687-3463-a714-fafe80f0b5e2",
    "params": {"day": 20260102},
    "payload": {"files": 3},
    "create_time": PUSHED,
}
_TEMPLATE: dict[str, Any] = {
    "owner": "ana",
    "definition": {
        "job_type": "greet",
        "step_type": "Shell",
        "version": "default",
        "params": {"script": {"value": "echo hi", "type": "STRING"}},
    },
}
_TEMPLATE_YAML = """\
owner: ana
definition:
  job_type: greet
  step_type: Shell
  version: default
  params:
    script: {value: echo hi, type: STRING}
"""
_PERMIT = {"tag": "sales", "max_allowed": 3}
_STREAM = f"""\
id: 25
event: run
data: {{"id": 25, "at": {STARTED}, "kind": "run", "workflow_id": "orders", "workflow_instance_id": 1, \
"workflow_run_id": 1, "data": {{"status": "IN_PROGRESS"}}}}
"""

REQUESTS: dict[str, Any] = {
    "POST /signals": {
        "name": "orders.arrived",
        "params": {"day": 20260102},
        "payload": {"files": 3},
        "request_id": "arrival-2026-01-02",
    },
    "PUT /output-data": {
        "external_job_type": "KUBERNETES",
        "external_job_id": "orders-1",
        "params": {"rows": {"value": 3, "type": "LONG"}},
    },
    "POST /job-templates": _TEMPLATE,
    "POST /job-templates/yaml": _TEMPLATE_YAML,
    "POST /tag-permits": _PERMIT,
}
ANSWERS: dict[str, Any] = {
    "GET /signals": {"signals": [_SIGNAL], "next_cursor": None},
    "POST /signals": _SIGNAL,
    "GET /signals/{name}/instances/{seq}": _SIGNAL,
    "PUT /output-data": {},
    "POST /job-templates": _TEMPLATE,
    "POST /job-templates/yaml": _TEMPLATE,
    "GET /job-templates": [_TEMPLATE],
    "GET /job-templates/{job_type}": _TEMPLATE,
    "DELETE /job-templates/{job_type}": {
        "type": "LOG",
        "timestamp": PUSHED,
        "level": "INFO",
        "message": "deleted the job template 'greet'",
    },
    "GET /job-types": {
        "job_types": [
            {
                "name": "greet",
                "version": "default",
                "template_of": "Shell",
                "section": None,
                "required": [],
            }
        ]
    },
    "POST /tag-permits": _PERMIT,
    "GET /tag-permits/{tag}": _PERMIT,
    "DELETE /tag-permits/{tag}": {},
    "GET /workflows/instances/action-map": {"FAILED": ["RESTART", "UNBLOCK"]},
    "GET /workflows/steps/instances/action-map": {"PAUSED": ["STOP", "KILL", "SKIP", "RESUME"]},
    "GET /health": {"status": "ok", "version": "0.1.0", "engine_alive": True},
    "GET /events": _STREAM,
}
