"""Runs in short: one with its steps, the newest ones, the newest attempts of steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, literal, select, tuple_

from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.views.definitions import step_definitions
from calve.engine.views.documents import Json, load, load_map, plain_params, without_nones
from calve.engine.views.lookup import LATEST, find_run, find_workflow
from calve.engine.views.newest import read_newest
from calve.errors import UsageError
from calve.state.orchestration import runs, steps

RUNS_LIMIT = 1_000
#: A status is looked for among so many of the newest, where no index knows of it.
LOOK_BACK = 20_000
#: These have an index of their own, which holds nothing else.
LIVE = (RunStatus.CREATED, RunStatus.IN_PROGRESS)


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


def list_runs(
    connection: Connection,
    workflow_id: str | None = None,
    status: str | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Json:
    """The newest runs that are no iterations, of one workflow or of all, after `cursor`.

    A status of one workflow is looked for among its newest instances.
    """
    query = select(runs).where(~runs.c.inline)
    key: list[ColumnElement[int]] = [runs.c.id]
    wanted = None if status is None else parse_status(status)
    if workflow_id is not None:
        latest = find_workflow(connection, workflow_id).latest_instance_id
        query = query.where(runs.c.workflow_id == workflow_id)
        key = [runs.c.instance_id, runs.c.run_id]
        if wanted is not None:
            query = query.where(has_status(wanted), runs.c.instance_id > latest - LOOK_BACK)
    elif wanted is not None:
        query = query.where(_has_among_all(connection, wanted))
    rows, following = read_newest(connection, query, key, limit, RUNS_LIMIT, cursor)
    return {"runs": [_list_entry(row) for row in rows], "next_cursor": following}


def has_status(status: RunStatus) -> ColumnElement[bool]:
    """The condition for a status."""
    # The status stands in the text of the statement, so that the partial index of that status serves it.
    return runs.c.status == literal(status.value, literal_execute=True)


def _has_among_all(connection: Connection, status: RunStatus) -> ColumnElement[bool]:
    """The condition for a status, so that what it costs does not grow with what is finished."""
    if status in LIVE:
        # Their index is in another order: found first, and sorted then, or all runs would be looked at.
        return runs.c.id.in_(select(runs.c.id).where(has_status(status)))
    if status is RunStatus.SUCCEEDED:
        return and_(has_status(status), runs.c.id > _newest_run(connection) - LOOK_BACK)
    return has_status(status)


def _newest_run(connection: Connection) -> int:
    return connection.execute(select(func.max(runs.c.id))).scalar() or 0


def parse_status(text: str) -> RunStatus:
    """A status by its name. Raises STATUS_UNKNOWN."""
    if text.upper() in RunStatus.__members__:
        return RunStatus[text.upper()]
    raise UsageError(
        "STATUS_UNKNOWN", f"found the status '{text}'", f"use one of {', '.join(RunStatus.__members__)}"
    )


def _list_entry(row: Row[Any]) -> Json:
    return {
        "workflow_id": row.workflow_id,
        "instance_id": row.instance_id,
        "run_id": row.run_id,
        "version": row.version,
        "status": row.status,
        "initiator": load_map(row.initiator).get("type"),
        "created_at": row.created_at,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "error": load(row.error),
    }


def latest_attempts(connection: Connection, run_keys: Iterable[int]) -> Sequence[Row[Any]]:
    """The newest attempt of every step of some runs."""
    newest = (
        select(steps.c.run, steps.c.step_id, func.max(steps.c.attempt_id))
        .where(steps.c.run.in_(list(run_keys)))
        .group_by(steps.c.run, steps.c.step_id)
    )
    query = select(steps).where(tuple_(steps.c.run, steps.c.step_id, steps.c.attempt_id).in_(newest))
    return connection.execute(query.order_by(steps.c.run, steps.c.created_at, steps.c.step_id)).all()
