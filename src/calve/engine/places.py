"""Where the attempts of steps keep their files."""

from __future__ import annotations

import shutil
from pathlib import Path

from calve.settings import Settings

ATTEMPTS = "attempts"


def workflow_place(settings: Settings, workflow_id: str) -> Path:
    """The folder of a workflow. Ids are checked when they are pushed: none of them leads elsewhere."""
    return Path(f"{settings.home}/{ATTEMPTS}/{workflow_id}")


def run_place(settings: Settings, workflow_id: str, instance_id: int, run_id: int) -> Path:
    """The folder of a run."""
    return Path(f"{settings.home}/{ATTEMPTS}/{workflow_id}/{instance_id}/{run_id}")


def attempt_place(
    settings: Settings, workflow_id: str, instance_id: int, run_id: int, step_id: str, attempt_id: int
) -> Path:
    """The folder of an attempt."""
    # Engines make very many of them: one text costs less than path upon path.
    return Path(f"{settings.home}/{ATTEMPTS}/{workflow_id}/{instance_id}/{run_id}/{step_id}/{attempt_id}")


def remove_run(settings: Settings, workflow_id: str, instance_id: int, run_id: int) -> None:
    """Remove the files of a run, and the folders above it that hold nothing else."""
    place = run_place(settings, workflow_id, instance_id, run_id)
    if not place.exists():
        return
    shutil.rmtree(place, ignore_errors=True)
    for folder in (place.parent, place.parent.parent):
        try:
            folder.rmdir()
        except OSError:
            # Something else is in it.
            return
