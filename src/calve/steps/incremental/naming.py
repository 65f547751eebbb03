"""Who a capture of a workflow is for, and which run it belongs to."""

from __future__ import annotations

import hashlib

_LONGEST = 128
_DIGEST = 12


def consumer_of(workflow_id: str, step_id: str) -> str:
    """The consumer that a capture step stands for, unless it names one."""
    return shortened(f"{workflow_id}/{step_id}")


def shortened(name: str) -> str:
    """A name that a consumer can have: one that is too long ends with its digest."""
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{name[: _LONGEST - _DIGEST - 1]}:{digest}"


def run_ref_of(workflow_id: str, instance_id: int, step_id: str) -> str:
    """What a capture is kept under: of an instance, so that a restarted run finds its own again."""
    return f"{workflow_id}/{instance_id}/{step_id}"


def owner_of(workflow_id: str, instance_id: int, run_id: int) -> str:
    """Who is at work under a capture: one run of the instance."""
    return f"{workflow_id}/{instance_id}/{run_id}"


def split_run_ref(run_ref: str) -> tuple[str, int, str] | None:
    """The workflow, the instance and the step; None for what no workflow wrote."""
    workflow_id, _, rest = run_ref.partition("/")
    instance, _, step_id = rest.partition("/")
    if not (workflow_id and instance.isdecimal() and step_id):
        return None
    return workflow_id, int(instance), step_id
