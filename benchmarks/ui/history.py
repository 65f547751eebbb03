"""Instances as they come in the course of weeks: some workflows often, most now and then."""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Table

from benchmarks.ui.scale import Scale
from benchmarks.ui.shapes import Flow, Row
from calve.state.clock import now_ms
from calve.state.orchestration import events, runs, steps

_SEED = 7
_SPAN_MS = 60 * 24 * 3600 * 1000
_STATUSES = ("SUCCEEDED", "FAILED", "STOPPED", "TIMED_OUT")
_SHARES = (94, 4, 1, 1)
_STARTERS = ("TIME", "TIME", "SIGNAL", "MANUAL")
_ERROR = {"code": "STEP_FAILED", "message": "step 'load' failed: exit code 1", "remedy": "see its log"}
_PARAM = {"type": "STRING", "mode": "MUTABLE", "source": "DEFINITION", "evaluated_time": 1}
_PARAMS = json.dumps(
    {f"param_{i}": {"value": "v" * 20, "evaluated_result": "v" * 20, **_PARAM} for i in range(8)}
)
_REQUEST = json.dumps({"policy": "START_FRESH_NEW_RUN", "step_params": {}})


def order_of(scale: Scale) -> array[int]:
    """Which workflow each instance is of, from the oldest to the newest."""
    numbers = random.Random(_SEED)
    weights = [1 / (number + 10) for number in range(scale.workflows)]
    # Every workflow has one at least.
    drawn = numbers.choices(range(scale.workflows), weights, k=scale.instances - scale.workflows)
    found = [*range(scale.workflows), *drawn]
    numbers.shuffle(found)
    return array("L", found)


def counts_of(order: Sequence[int], scale: Scale) -> list[int]:
    """How many instances each workflow has."""
    counts = [0] * scale.workflows
    for number in order:
        counts[number] += 1
    return counts


def history_rows(made: Sequence[Flow], order: Sequence[int], scale: Scale) -> Iterator[tuple[Table, Row]]:
    """Runs, the steps and events of the newest ones, and the iterations of loops."""
    numbers = random.Random(_SEED)
    now = now_ms()
    statuses = numbers.choices(_STATUSES, _SHARES, k=scale.instances)
    seen = [0] * scale.workflows
    key = 0
    every = max(scale.instances // scale.loops, 1)
    for at, number in enumerate(order):
        key += 1
        seen[number] += 1
        left = scale.instances - at
        status = _live_status(left, scale) or statuses[at]
        moment = now - _SPAN_MS * left // scale.instances
        row = _run(key, made[number].workflow_id, seen[number], status, moment)
        yield runs, row
        if left <= scale.detailed:
            yield from _details(row, made[number])
        if at % every == every // 2:
            for iteration in range(scale.iterations):
                key += 1
                around = {"inline": True, "parent_run": row["id"], "parent_step": "each", "depth": 1}
                yield (
                    runs,
                    _run(key, f"maestro_foreach_{row['id']}", iteration + 1, "SUCCEEDED", moment) | around,
                )


def _live_status(left: int, scale: Scale) -> str | None:
    if left <= scale.running // 2:
        return "CREATED"
    return "IN_PROGRESS" if left <= scale.running // 2 + scale.running else None


def _run(key: int, workflow_id: str, instance_id: int, status: str, moment: int) -> Row:
    is_live = status == "IN_PROGRESS"
    is_over = not is_live and status != "CREATED"
    return {
        "id": key,
        "workflow_id": workflow_id,
        "instance_id": instance_id,
        "run_id": 1,
        "version": 1,
        "uuid": f"run-{key}",
        "status": status,
        "latest": True,
        "inline": False,
        "ready": is_live,
        "blocking": status == "FAILED" and key % 1_000 == 0,
        "paused": False,
        "ending": None,
        "owner": 1 if is_live else None,
        "parent_run": None,
        "parent_step": None,
        "root_run": None,
        "depth": 0,
        "initiator": json.dumps({"type": _STARTERS[key % len(_STARTERS)], "caller": "bench"}),
        "request": _REQUEST,
        "params": _PARAMS,
        "overview": None,
        "error": json.dumps(_ERROR) if status == "FAILED" else None,
        "created_at": moment,
        "started_at": None if status == "CREATED" else moment + 500,
        "ended_at": moment + 60_000 + key % 600_000 if is_over else None,
        "deadline_at": None,
    }


def _details(run: Row, flow: Flow) -> Iterator[tuple[Table, Row]]:
    if run["started_at"] is None:
        return
    status: str = run["status"]
    last = {"FAILED": "FATALLY_FAILED", "IN_PROGRESS": "RUNNING"}.get(status, status)
    for at, step_id in enumerate(flow.steps):
        is_last = at == len(flow.steps) - 1
        moment = run["started_at"] + at * 10_000
        yield steps, _step(run["id"], step_id, last if is_last else "SUCCEEDED", moment)
    for status in ("CREATED", "IN_PROGRESS", run["status"]):
        yield events, _event(run, {"status": status})


def _step(run: int, step_id: str, status: str, moment: int) -> Row:
    is_over = status != "RUNNING"
    optional = ("ending", "handle", "progress", "artifacts", "dependencies", "deadline_at", "wake_at")
    return dict.fromkeys(optional) | {
        "run": run,
        "step_id": step_id,
        "attempt_id": 1,
        "uuid": f"step-{run}-{step_id}",
        "status": status,
        "carried": False,
        "params": _PARAMS,
        "error": json.dumps(_ERROR) if status == "FATALLY_FAILED" else None,
        "retries": "{}",
        "created_at": moment,
        "started_at": moment + 100,
        "ended_at": moment + 9_000 if is_over else None,
    }


def _event(run: Row, data: dict[str, Any]) -> Row:
    return {
        "at": run["created_at"],
        "kind": "run",
        "workflow_id": run["workflow_id"],
        "run": run["id"],
        "instance_id": run["instance_id"],
        "run_id": 1,
        "step_id": None,
        "attempt_id": None,
        "data": json.dumps(data),
    }
