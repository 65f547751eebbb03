"""The ids under which iterations of loops run."""

from __future__ import annotations

import hashlib


def inline_workflow_id(kind: str, workflow_id: str, instance_id: int, step_id: str) -> str:
    """The id for the iterations of a loop: the same for every run of the instance around it."""
    said = f"{workflow_id}:{instance_id}:{step_id}"
    return f"maestro_{kind}_{hashlib.sha256(said.encode()).hexdigest()[:24]}"
