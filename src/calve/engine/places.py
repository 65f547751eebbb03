"""Where the attempts of steps keep their files."""

from __future__ import annotations

from pathlib import Path

from calve.settings import Settings

ATTEMPTS = "attempts"


def attempt_place(
    settings: Settings, workflow_id: str, instance_id: int, run_id: int, step_id: str, attempt_id: int
) -> Path:
    """The folder of an attempt. Ids are checked when they are pushed: none of them leads elsewhere."""
    return Path(f"{settings.home}/{ATTEMPTS}/{workflow_id}/{instance_id}/{run_id}/{step_id}/{attempt_id}")
