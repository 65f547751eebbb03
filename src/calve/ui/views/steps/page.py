"""One step of a run, and its attempts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, Row

from calve.engine.model.statuses import StepStatus
from calve.engine.orchestrator import Orchestrator
from calve.engine.views.documents import Json, load, load_map
from calve.engine.views.lookup import LATEST
from calve.engine.views.step_logs import LogRequest, read_log
from calve.server.app import PREFIX
from calve.server.dependencies import Number, Orchestrating
from calve.state.clock import now_ms
from calve.ui.addresses import run_address, step_address, with_query
from calve.ui.commands import command
from calve.ui.formats import elapsed
from calve.ui.pages import Pages
from calve.ui.views.runs.actions import step_buttons
from calve.ui.views.runs.captures import find_captures
from calve.ui.views.runs.initiator import find_way
from calve.ui.views.runs.page import describe_run
from calve.ui.views.runs.params import describe_params, show_value
from calve.ui.views.runs.steps import describe_progress
from calve.ui.views.signals.finding import condition_texts
from calve.ui.views.steps.children import find_subworkflow, read_iterations
from calve.ui.views.steps.reading import StepRead, read_step

pages = Pages()
_LINES = 400


@pages.page("/workflows/{workflow_id}/instances/{instance_id}/steps/{step_id}", "step.html")
def step(
    orchestrator: Orchestrating,
    workflow_id: str,
    instance_id: Number,
    step_id: str,
    run: str = LATEST,
    attempt: str = LATEST,
    show: str = "",
    cursor: str = "",
) -> Json:
    """A step of a run: one attempt with its way, its params, its log; of a loop, a page of iterations."""
    now = now_ms()
    with orchestrator.database.read() as connection:
        read = read_step(connection, (workflow_id, instance_id, run), step_id, attempt)
        return {
            "run": describe_run(read.run, now),
            "way_here": find_way(connection, read.run),
            "step": _describe(read, now),
            "attempts": _attempts(read),
            "buttons": _buttons(read),
            "way": _way(read, now),
            "actions": list(read.actions),
            "log": _log(connection, orchestrator, read),
            "iterations": read_iterations(connection, read, show, cursor, now),
            "subworkflow": find_subworkflow(connection, read, now),
            "captures": find_captures(connection, workflow_id, instance_id, [step_id]),
            "is_live": read.run.ended_at is None,
            "command": command("logs", workflow_id, instance_id, step_id),
        }


def _describe(read: StepRead, now: int) -> Json:
    definition, row = dict(read.definition), read.attempt
    kind = str(definition.pop("kind", "step"))
    described: Json = {
        "id": read.step_id,
        "type": definition.get("type", "") if kind == "step" else kind,
        "status": StepStatus.NOT_CREATED.value,
        "definition": show_value(definition) if definition else "",
        "attempt_id": None,
    }
    return described if row is None else {**described, **_describe_attempt(read, row, now)}


def _describe_attempt(read: StepRead, row: Row[Any], now: int) -> Json:
    error, artifacts = load(row.error), load_map(row.artifacts)
    return {
        "status": row.status,
        "attempt_id": row.attempt_id,
        "carried_from": read.log_run if row.carried else None,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "wake_at": row.wake_at if StepStatus(row.status).is_retryable else None,
        "took": elapsed(row.started_at, row.ended_at, now),
        "progress": describe_progress(row),
        "counts": _counts(load_map(row.progress)),
        "error": error if isinstance(error, dict) or error is None else {"message": str(error)},
        "params": describe_params(load_map(row.params)),
        "artifacts": [{"name": name, "text": show_value(value)} for name, value in artifacts.items()],
        "dependencies": [_dependency(one) for one in load(row.dependencies) or ()],
    }


def _counts(progress: Json) -> Json:
    """What else a step tells of its progress, such as the tasks and stages of Spark."""
    told = ("message", "fraction")
    return {name: value for name, value in progress.items() if name not in told and isinstance(value, int)}


def _dependency(one: Json) -> Json:
    return {"name": one["name"], "status": one["status"], "conditions": condition_texts(one)}


def _attempts(read: StepRead) -> list[Json]:
    run = read.run
    shown = None if read.attempt is None else read.attempt.attempt_id
    return [
        {
            "attempt_id": row.attempt_id,
            "status": row.status,
            "href": step_address(run.workflow_id, run.instance_id, read.step_id, run.run_id, row.attempt_id),
            "is_shown": row.attempt_id == shown,
        }
        for row in read.attempts
    ]


def _buttons(read: StepRead) -> list[Json]:
    if read.attempt is None or read.attempt.attempt_id != read.attempts[-1].attempt_id:
        return []
    return step_buttons(read.run, read.step_id, read.attempt.status)


def _way(read: StepRead, now: int) -> list[Json]:
    if not read.way:
        return []
    last = read.way[-1]
    end = last[1] if StepStatus(last[0]).is_terminal else now
    return [
        {"status": status, "at": at, "took": after - at}
        for (status, at), (_, after) in pairwise([*read.way, ("", end)])
    ]


def _log(connection: Connection, orchestrator: Orchestrator, read: StepRead) -> Json | None:
    if read.attempt is None:
        return None
    run, number = read.run, read.attempt.attempt_id
    request = LogRequest(run.workflow_id, run.instance_id, read.step_id, read.log_run, number, tail=_LINES)
    piece = read_log(connection, orchestrator.settings, request)
    path = f"{PREFIX}{step_address(run.workflow_id, run.instance_id, read.step_id)}/logs"
    return {
        "href": with_query(path, run=read.log_run, attempt=number),
        "text": piece["text"],
        "offset": piece["offset"],
        "next_offset": piece["next_offset"],
        "complete": piece["complete"],
        "run_href": run_address(run.workflow_id, run.instance_id, read.log_run),
    }
