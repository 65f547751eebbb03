"""What stands above all else on the page of a backfill: what it is, how it stands, and why it stopped."""

from __future__ import annotations

from collections.abc import Sequence

from calve.backfill.records import Backfill
from calve.backfill.status import backfill_summary
from calve.backfill.statuses import BackfillStatus, Phase
from calve.server.dependencies import Json
from calve.ui.addresses import run_address, step_address


def backfill_head(backfill: Backfill, stages: Sequence[Json]) -> Json:
    """The backfill in short, with the chunks of all stages counted."""
    known = [stage["seconds_left"] for stage in stages if stage["seconds_left"] is not None]
    waits = any(stage["phase"] == Phase.WAITING for stage in stages)
    return {
        **backfill_summary(backfill),
        "created_at": backfill.created_at,
        "started_at": backfill.started_at,
        "ended_at": backfill.ended_at,
        "is_over": backfill.status.is_over,
        "waits": waits and not (backfill.auto_publish or backfill.status.is_over),
        "done": sum(stage["done"] for stage in stages),
        "total": sum(stage["total"] for stage in stages),
        "ms_left": sum(known) * 1000 if known and backfill.status is BackfillStatus.RUNNING else None,
        "chunk_size": backfill.plan.chunk,
        "params": dict(backfill.plan.params),
        "driver_href": (
            None if backfill.instance_id is None else run_address(backfill.driver, backfill.instance_id)
        ),
    }


def driver_errors(backfill: Backfill, driver: Json | None) -> list[Json]:
    """Why it stopped, as the steps of its driver tell; nothing while it goes on."""
    if driver is None or backfill.instance_id is None or backfill.status is not BackfillStatus.FAILED:
        return []
    errors = [{"step_id": None, **driver["error"]}] if driver["error"] else []
    errors += [
        {"step_id": name, **step["error"]} for name, step in driver["steps"].items() if step.get("error")
    ]
    return [
        {
            "code": error.get("code"),
            "message": error.get("message"),
            "remedy": error.get("remedy"),
            "href": _address(backfill.driver, backfill.instance_id, error["step_id"]),
        }
        for error in errors
    ]


def _address(workflow_id: str, instance_id: int, step_id: str | None) -> str:
    if step_id is None:
        return run_address(workflow_id, instance_id)
    return step_address(workflow_id, instance_id, step_id)
