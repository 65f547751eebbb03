"""Which run a capture belongs to."""

from __future__ import annotations

from calve.server.dependencies import Json
from calve.steps.incremental.naming import split_run_ref


def run_of(run_ref: str | None) -> Json | None:
    """The workflow, instance and step of a `run_ref`; None where no workflow took the capture."""
    parts = None if run_ref is None else split_run_ref(run_ref)
    if parts is None:
        return None
    return {"workflow_id": parts[0], "instance_id": parts[1], "step_id": parts[2]}
