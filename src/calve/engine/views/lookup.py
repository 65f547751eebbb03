"""Finding the rows that a request names, or saying what is missing and what was probably meant."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, func, select

from calve.engine.views.numbers import is_number
from calve.errors import NotFoundError, UsageError
from calve.state.orchestration import runs, workflows
from calve.workflow.definition.problems import nearest

LATEST = "latest"
_GUESSES = 2_000


def find_workflow(connection: Connection, workflow_id: str) -> Row[Any]:
    """The row of a workflow."""
    found = connection.execute(select(workflows).where(workflows.c.workflow_id == workflow_id)).first()
    if found is None:
        raise no_workflow(connection, workflow_id)
    return found


def no_workflow(connection: Connection, workflow_id: str) -> NotFoundError:
    """The error for a workflow that is not there, with the nearest one that is."""
    names = select(workflows.c.workflow_id).order_by(workflows.c.updated_at.desc()).limit(_GUESSES)
    guess = nearest(workflow_id, connection.execute(names).scalars())
    remedy = "see the ids with `calve list`" if guess is None else f"did you mean '{guess}'?"
    return NotFoundError("WORKFLOW_NOT_FOUND", f"there is no workflow '{workflow_id}'", remedy)


def find_run(connection: Connection, workflow_id: str, instance_id: int, run_id: str | int) -> Row[Any]:
    """The row of a run of an instance: the latest, or one by its number."""
    query = select(runs).where(runs.c.workflow_id == workflow_id, runs.c.instance_id == instance_id)
    if str(run_id).lower() == LATEST:
        found = connection.execute(query.order_by(runs.c.run_id.desc()).limit(1)).first()
    else:
        found = connection.execute(query.where(runs.c.run_id == parse_number(run_id, "run"))).first()
    if found is None:
        raise _no_run(connection, workflow_id, instance_id, run_id)
    return found


def parse_number(value: str | int, what: str) -> int:
    """A number of a run, an attempt or a signal, as a path names it."""
    text = str(value)
    if is_number(text):
        return int(text)
    raise UsageError("NUMBER_INVALID", f"found the {what} '{value}'", f"use '{LATEST}' or a number")


def _no_run(connection: Connection, workflow_id: str, instance_id: int, run_id: str | int) -> NotFoundError:
    query = select(func.max(runs.c.run_id)).where(
        runs.c.workflow_id == workflow_id, runs.c.instance_id == instance_id
    )
    newest = connection.execute(query).scalar()
    if newest is not None:
        return NotFoundError(
            "RUN_NOT_FOUND",
            f"instance {instance_id} of '{workflow_id}' has no run {run_id}",
            f"the latest is {newest}",
        )
    query = select(workflows.c.latest_instance_id).where(workflows.c.workflow_id == workflow_id)
    latest = connection.execute(query).scalar()
    if latest is None:
        return no_workflow(connection, workflow_id)
    return NotFoundError(
        "INSTANCE_NOT_FOUND",
        f"the workflow '{workflow_id}' has no instance {instance_id}",
        "it was never started" if latest == 0 else f"the latest is {latest}",
    )
