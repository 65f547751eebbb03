"""Runs in short: one with its steps, the newest ones, the newest attempts of steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select, tuple_

from calve.engine.model.statuses import StepStatus
from calve.engine.views.definitions import step_definitions
from calve.engine.views.documents import Json, load, load_map, plain_params, without_nones
from calve.engine.views.lookup import LATEST, find_run
from calve.state.orchestration import steps


def run_summary(
    connection: Connection, workflow_id: str, instance_id: int, run_id: str | int = LATEST
) -> Json:
    """A run for the command line: its status, and the status and the params of each of its steps."""
    run = find_run(connection, workflow_id, instance_id, run_id)
    found = {row.step_id: _step_summary(row) for row in latest_attempts(connection, [run.id])}
    defined = step_definitions(connection, run)
    absent: Json = {"status": StepStatus.NOT_CREATED.value, "params": {}}
    return {
        "workflow_id": run.workflow_id,
        "instance_id": run.instance_id,
        "run_id": run.run_id,
        "status": run.status,
        "steps": {step_id: found.get(step_id, absent) for step_id in {**defined, **found}},
        "params": plain_params(load_map(run.params)),
        "error": load(run.error),
        "version": run.version,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    }


def _step_summary(row: Row[Any]) -> Json:
    return without_nones(
        {
            "status": row.status,
            "params": plain_params(load_map(row.params)),
            "attempt_id": row.attempt_id,
            "created_at": row.created_at,
            "started_at": row.started_at,
            "ended_at": row.ended_at,
            "progress": load(row.progress),
            "error": load(row.error),
            "artifacts": load(row.artifacts),
        }
    )


def latest_attempts(connection: Connection, run_keys: Iterable[int]) -> Sequence[Row[Any]]:
    """The newest attempt of every step of some runs."""
    newest = (
        select(steps.c.run, steps.c.step_id, func.max(steps.c.attempt_id))
        .where(steps.c.run.in_(list(run_keys)))
        .group_by(steps.c.run, steps.c.step_id)
    )
    query = select(steps).where(tuple_(steps.c.run, steps.c.step_id, steps.c.attempt_id).in_(newest))
    return connection.execute(query.order_by(steps.c.run, steps.c.created_at, steps.c.step_id)).all()
