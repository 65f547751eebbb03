"""The workflows that are run."""

from __future__ import annotations

from typing import Any

Flow = dict[str, Any]
#: As many steps of a run at a time as there are: permits are not what is measured.
_AT_ONCE = 500


def one_step(type_: str, workflow_id: str = "one") -> Flow:
    """A single step; many instances may run at a time."""
    return _flow(workflow_id, [_job("a", type_)], "sequential")


def chain(type_: str, steps: int) -> Flow:
    """Steps one after the other."""
    return _flow("chain", [_job(f"s{number}", type_) for number in range(steps)], "sequential")


def parallel(type_: str, steps: int) -> Flow:
    """Steps side by side."""
    return _flow("parallel", [_job(f"s{number}", type_) for number in range(steps)], "parallel")


def foreach(type_: str, iterations: int) -> Flow:
    """A loop over a range of numbers."""
    loop = {
        "id": "loop",
        "concurrency": 100,
        "params": {"i": list(range(iterations))},
        "jobs": [_job("a", type_)],
    }
    return _flow(f"foreach{iterations}", [{"foreach": loop}], "sequential")


def busy(workflow_id: str) -> Flow:
    """A workflow that runs one instance at a time, and for longer than anybody measures."""
    job = {"job": {"id": "a", "type": "Sleep", "sleep_seconds": 100_000}}
    return {"Workflow": {"id": workflow_id, "owner": "bench", "jobs": [job]}}


def _job(step_id: str, type_: str) -> Flow:
    return {"job": {"id": step_id, "type": type_}}


def _flow(workflow_id: str, jobs: list[Flow], dag: str) -> Flow:
    strategy = {"rule": "PARALLEL", "workflow_concurrency": 100}
    inside = {"id": workflow_id, "owner": "bench", "run_strategy": strategy, "step_concurrency": _AT_ONCE}
    return {"Workflow": {**inside, "jobs": jobs, "dag": dag}}
