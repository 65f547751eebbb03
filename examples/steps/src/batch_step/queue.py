"""A stand-in for a batch system: every job has a folder, whose name is the key that it was sent with.

A real one has a command or an API for each of these functions, and a way to send a job under a name that
can exist once ("client token", "job name"): that is what makes sending it twice harmless.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calve.steps.process import Alive, Exited, ProcessHandle, inspect, launch, terminate

_GRACE_S = 5.0

#: What the batch system calls a job: plain JSON.
JobId = Mapping[str, Any]


class JobLostError(Exception):
    """The batch system does not know the job any more."""


def submit(queue: Path, key: str, command: str) -> JobId:
    """Send a job; one that was sent with the same key is not sent again."""
    place = queue.absolute() / key
    return {"place": str(place), **launch(place, ["sh", "-c", command], dict(os.environ)).to_json()}


def exit_code(job: JobId) -> int | None:
    """What a job ended with; None while it runs."""
    match inspect(ProcessHandle.from_json(job), Path(job["place"])):
        case Alive():
            return None
        case Exited(code):
            return code
        case _:
            raise JobLostError(f"the job of {job['place']} is lost")


def output(job: JobId) -> str:
    """What a job has written."""
    return (Path(job["place"]) / "log.txt").read_text(encoding="utf-8", errors="replace")


async def withdraw(queue: Path, key: str) -> None:
    """End the job that was sent with this key, if it has not ended."""
    await terminate(ProcessHandle.nobody(), queue.absolute() / key, _GRACE_S)
