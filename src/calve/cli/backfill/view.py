"""Backfills for the eyes."""

from __future__ import annotations

from typing import Any

from calve.backfill.explaining import duration_text
from calve.cli import output
from calve.cli.client import Json

_WIDTH = 24
_SHOWN = 12


def explain_lines(made: Json) -> list[str]:
    """A plan in words, and what to do with it."""
    lines: list[str] = [*made["explanation"], ""]
    if made["status"] == "PLANNED":
        lines.append(f"Run it with `calve backfill run {made['backfill_id']}`.")
    return lines


def list_table(found: list[Json]) -> Any:
    """Backfills in a table."""
    rows: list[list[object]] = [
        [x["backfill_id"], x["workflow_id"], x["from"], x["to"], x["status"], x["author"], x["reason"]]
        for x in found
    ]
    return output.table(["id", "workflow", "from", "to", "status", "by", "reason"], rows)


def status_view(found: Json) -> Any:
    """A backfill with its stages, and the chunks that are not done."""
    from rich.console import Group
    from rich.text import Text

    range_ = f"{found['from']} to before {found['to']}"
    head = f"backfill {found['backfill_id']} of {found['workflow_id']}, {range_}: {found['status']}"
    left = found["seconds_left"]
    if left and found["status"] == "RUNNING":
        head += f", about {duration_text(left)} left"
    lines = [Text(head, style="bold")]
    for stage in found["stages"]:
        lines.append(Text(stage_line(stage)))
        lines += [Text(_chunk_line(chunk), style="dim") for chunk in _interesting(stage)]
    if found["waiting_for_approval"] and not found["auto_publish"]:
        lines.append(Text(f"waits to be published: calve backfill publish {found['backfill_id']}"))
    return Group(*lines)


def stage_line(stage: Json) -> str:
    """One stage with its bar."""
    total = stage["total"]
    filled = round(_WIDTH * stage["done"] / total) if total else 0
    bar = "█" * filled + "░" * (_WIDTH - filled)
    again = f", round {stage['round']}" if stage["round"] > 1 else ""
    failed = sum(stage["chunks"].get(name, 0) for name in ("FAILED", "TIMED_OUT", "STOPPED"))
    trouble = f", {failed} failed" if failed else ""
    return (
        f"{stage['stage'] + 1}. {stage['workflow_id']}: {bar} {stage['done']}/{total} "
        f"{stage['phase'].lower()}{again}{trouble}"
    )


def _interesting(stage: Json) -> list[Json]:
    """Chunks that run or failed."""
    found = [x for x in stage["chunk_list"] if x["status"] not in ("SUCCEEDED", "PLANNED", "CREATED")]
    return found[:_SHOWN]


def _chunk_line(chunk: Json) -> str:
    run = f"{chunk['workflow_id']} {chunk['instance_id']}"
    return f"     {chunk['from']} to before {chunk['to']}: {chunk['status'].lower()} ({run})"
