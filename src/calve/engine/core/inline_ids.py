"""The ids under which iterations of loops run."""

from __future__ import annotations

import hashlib

from calve.engine.core.run_state import RunState


def inline_workflow_id(kind: str, run: RunState, step_id: str) -> str:
    """The id for the iterations of a loop: the same for every run of the instance around it."""
    said = f"{run.workflow_id}:{run.instance_id}:{step_id}"
    return f"maestro_{kind}_{hashlib.sha256(said.encode()).hexdigest()[:24]}"
