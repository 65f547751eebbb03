"""One run of an instance."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from calve.engine.orchestrator import Orchestrator
from calve.engine.views.documents import Json, load, load_map
from calve.engine.views.lookup import LATEST
from calve.server.dependencies import Number, Orchestrating
from calve.state.clock import now_ms
from calve.ui.addresses import run_address, workflow_address
from calve.ui.commands import command
from calve.ui.formats import elapsed
from calve.ui.pages import Pages
from calve.ui.views.runs.actions import run_buttons
from calve.ui.views.runs.captures import find_captures
from calve.ui.views.runs.initiator import describe_start, find_way, read_parents
from calve.ui.views.runs.params import describe_params
from calve.ui.views.runs.reading import RunRead, read_run, read_siblings
from calve.ui.views.runs.steps import describe_steps, draw_steps, find_failed
from calve.ui.views.runs.timeline import draw_timeline

pages = Pages()
_INSTANCE = "/workflows/{workflow_id}/instances/{instance_id}"


@pages.page(_INSTANCE, "run.html")
def instance(orchestrator: Orchestrating, workflow_id: str, instance_id: Number) -> Json:
    """The newest run of an instance: its steps, along the graph and along the time."""
    return _show(orchestrator, workflow_id, instance_id, LATEST)


@pages.page(_INSTANCE + "/runs/{run_id}", "run.html")
def run(orchestrator: Orchestrating, workflow_id: str, instance_id: Number, run_id: str) -> Json:
    """One run of an instance, by its number."""
    return _show(orchestrator, workflow_id, instance_id, run_id)


def _show(orchestrator: Orchestrator, workflow_id: str, instance_id: int, run_id: str) -> Json:
    with orchestrator.database.read() as connection:
        read = read_run(connection, workflow_id, instance_id, run_id, now_ms())
        siblings = read_siblings(connection, read.run)
        parents = read_parents(connection, [read.run])
        way = find_way(connection, read.run)
        captured = find_captures(connection, workflow_id, instance_id, read.step_ids)
    described = describe_steps(read)
    return {
        "run": describe_run(read.run, read.now),
        "start": describe_start(read.run, parents),
        "way": way,
        "runs": [_sibling(read.run, row) for row in siblings],
        "buttons": run_buttons(read.run),
        "failed": find_failed(described),
        "steps": described,
        "graph": draw_steps(read, described),
        "timeline": draw_timeline(read),
        "captures": captured,
        "params": describe_params(load_map(read.run.params)),
        "is_live": not read.is_over,
        "command": _command(read),
    }


def describe_run(row: Row[Any], now: int) -> Json:
    """The facts of a run."""
    return {
        "workflow_id": row.workflow_id,
        "instance_id": row.instance_id,
        "run_id": row.run_id,
        "version": row.version,
        "status": row.status,
        "paused": row.paused,
        "blocking": row.blocking,
        "inline": row.inline,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "took": elapsed(row.started_at, row.ended_at, now),
        "queued": (row.started_at or row.ended_at or now) - row.created_at,
        "error": load(row.error),
        "href": run_address(row.workflow_id, row.instance_id, row.run_id),
        "workflow_href": None if row.inline else workflow_address(row.workflow_id),
    }


def _sibling(run: Row[Any], row: Row[Any]) -> Json:
    return {
        "run_id": row.run_id,
        "status": row.status,
        "created_at": row.created_at,
        "href": run_address(run.workflow_id, run.instance_id, row.run_id),
        "is_shown": row.run_id == run.run_id,
    }


def _command(read: RunRead) -> str:
    return command("runs", read.run.workflow_id, read.run.instance_id)
