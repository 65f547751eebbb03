"""The newest instances of a workflow against its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from calve.engine.model.statuses import StepStatus
from calve.server.dependencies import Json
from calve.state.orchestration import runs, steps
from calve.ui.addresses import run_address, step_address
from calve.ui.formats import duration, elapsed, words

_INSTANCES = 25
#: So many cells at most: a workflow with many steps shows fewer instances.
_CELLS = 2_500
_LEAST_INSTANCES = 6
#: A sign for each kind of outcome, so that colour is not all there is.
_SIGNS: Mapping[str, str] = {
    StepStatus.SUCCEEDED: "✓",
    StepStatus.FATALLY_FAILED: "✕",
    StepStatus.INTERNALLY_FAILED: "✕",
    StepStatus.TIMED_OUT: "⏱",
    StepStatus.STOPPED: "■",
    StepStatus.SKIPPED: "»",
    StepStatus.DISABLED: "–",
    StepStatus.UNSATISFIED: "–",
    StepStatus.COMPLETED_WITH_ERROR: "!",
    StepStatus.RUNNING: "▶",
    StepStatus.PAUSED: "‖",
    StepStatus.USER_FAILED: "↻",
    StepStatus.PLATFORM_FAILED: "↻",
    StepStatus.TIMEOUT_FAILED: "↻",
}
_WAITS = "…"


def instance_grid(
    connection: Connection, workflow_id: str, defined: Sequence[str], cursor: int | None, now_ms: int
) -> Json:
    """Instances before `cursor`, the newest first, with the steps of their latest runs."""
    count = max(_LEAST_INSTANCES, min(_INSTANCES, _CELLS // max(len(defined), 1)))
    query: Select[Any] = select(
        runs.c.id, runs.c.instance_id, runs.c.run_id, runs.c.status, runs.c.version,
        runs.c.created_at, runs.c.started_at, runs.c.ended_at,
    ).where(runs.c.workflow_id == workflow_id, runs.c.latest)  # fmt: skip
    if cursor is not None:
        query = query.where(runs.c.instance_id < cursor)
    rows = connection.execute(query.order_by(runs.c.instance_id.desc()).limit(count + 1)).all()
    shown, has_older = rows[:count], len(rows) > count
    attempts = _attempts(connection, [row.id for row in shown])
    seen = {step_id for _, step_id in attempts}
    order = [*defined, *sorted(seen - set(defined))]
    return {
        "instances": [_column(workflow_id, row, now_ms) for row in shown],
        "rows": [
            {
                "step_id": step_id,
                "is_defined": step_id in defined,
                "cells": [
                    _cell(workflow_id, row, step_id, attempts.get((row.id, step_id)), now_ms) for row in shown
                ],
            }
            for step_id in order
        ],
        "older": shown[-1].instance_id if has_older else None,
    }


def _attempts(connection: Connection, run_keys: Sequence[int]) -> dict[tuple[int, str], Row[Any]]:
    """The newest attempt of each step of some runs."""
    # Only what a cell shows: the params of thousands of attempts would be most of the work.
    query: Select[Any] = (
        select(
            steps.c.run,
            steps.c.step_id,
            steps.c.attempt_id,
            steps.c.status,
            steps.c.started_at,
            steps.c.ended_at,
        )
        .where(steps.c.run.in_(run_keys))
        .order_by(steps.c.run, steps.c.step_id, steps.c.attempt_id)
    )
    return {(row.run, row.step_id): row for row in connection.execute(query)}


def _column(workflow_id: str, row: Row[Any], now_ms: int) -> Json:
    took = duration(elapsed(row.started_at, row.ended_at, now_ms))
    return {
        "instance_id": row.instance_id,
        "href": run_address(workflow_id, row.instance_id),
        "status": row.status,
        "version": row.version,
        "create_time": row.created_at,
        "title": f"instance {row.instance_id} of version {row.version}: {words(row.status)}, {took}",
    }


def _cell(workflow_id: str, run: Row[Any], step_id: str, row: Row[Any] | None, now_ms: int) -> Json | None:
    """What a step came to in an instance; None if it has not begun."""
    if row is None:
        return None
    took = duration(elapsed(row.started_at, row.ended_at, now_ms))
    again = f", attempt {row.attempt_id}" if row.attempt_id > 1 else ""
    return {
        "status": row.status,
        "sign": _SIGNS.get(row.status, _WAITS),
        "href": step_address(workflow_id, run.instance_id, step_id),
        "title": f"{step_id} in {run.instance_id}: {words(row.status)}, {took}{again}",
    }
