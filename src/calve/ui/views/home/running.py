"""What runs now, and what waits for its turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, false, literal, or_, select

from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.views.counting import count_some
from calve.engine.views.documents import load_map, version_workflow
from calve.server.dependencies import Json
from calve.state.orchestration import runs, steps, workflow_versions

_SHOWN = 20
#: Counts of this page go so far, because it is the one that is shown most.
COUNT_LIMIT = 1_000
_CURRENT_STEPS = 3


def running_now(connection: Connection) -> Json:
    """The newest runs under way with their progress, and how many there are."""
    # Ordered by what has no index: the database then finds the few that run by the index of those.
    query = _of(RunStatus.IN_PROGRESS).order_by(runs.c.created_at.desc()).limit(_SHOWN)
    found = connection.execute(query).all()
    progress = _progress(connection, found)
    return {
        "running": count_some(connection, _of(RunStatus.IN_PROGRESS), COUNT_LIMIT),
        "queued": count_some(connection, _of(RunStatus.CREATED), COUNT_LIMIT),
        "count_limit": COUNT_LIMIT,
        "runs": [{**_entry(row), **progress[row.id]} for row in found],
    }


def _of(status: RunStatus) -> Select[Any]:
    # The status stands in the text of the statement, so that the partial index of that status serves it.
    return select(runs).where(runs.c.status == literal(status.value, literal_execute=True), ~runs.c.inline)


def _entry(row: Row[Any]) -> Json:
    return {
        "workflow_id": row.workflow_id,
        "instance_id": row.instance_id,
        "run_id": row.run_id,
        "status": "PAUSED" if row.paused else row.status,
        "begun_at": row.started_at or row.created_at,
    }


def _progress(connection: Connection, found: Sequence[Row[Any]]) -> dict[int, Json]:
    """Of each run: how many of its steps are done, and which are under way."""
    statuses: dict[int, dict[str, str]] = {row.id: {} for row in found}
    query = select(steps.c.run, steps.c.step_id, steps.c.status).where(steps.c.run.in_(list(statuses)))
    for step in connection.execute(query.order_by(steps.c.run, steps.c.step_id, steps.c.attempt_id)):
        statuses[step.run][step.step_id] = step.status
    totals = _steps_defined(connection, {(row.workflow_id, row.version) for row in found})
    return {
        row.id: _counted(statuses[row.id], totals.get((row.workflow_id, row.version), 0)) for row in found
    }


def _steps_defined(connection: Connection, versions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """How many steps each of some versions of workflows has."""
    these = [
        and_(workflow_versions.c.workflow_id == name, workflow_versions.c.version == version)
        for name, version in versions
    ]
    query = select(
        workflow_versions.c.workflow_id, workflow_versions.c.version, workflow_versions.c.definition
    ).where(or_(false(), *these))
    return {
        (row.workflow_id, row.version): len(version_workflow(load_map(row.definition))["steps"])
        for row in connection.execute(query)
    }


def _counted(statuses: dict[str, str], defined: int) -> Json:
    current = [(name, status) for name, status in statuses.items() if not StepStatus(status).is_over]
    return {
        "steps_done": sum(StepStatus(status).is_complete for status in statuses.values()),
        "steps_total": max(defined, len(statuses)),
        "current": [{"step_id": name, "status": status} for name, status in current[:_CURRENT_STEPS]],
        "current_more": max(0, len(current) - _CURRENT_STEPS),
    }
