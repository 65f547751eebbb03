"""Iterations of loops: which instances they belong to, and under which ids they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from calve.engine.views.documents import Json, without_nones
from calve.engine.views.lookup import LATEST, find_run
from calve.errors import NotFoundError, UsageError
from calve.state.orchestration import runs


def inline_path(connection: Connection, workflow_id: str, instance_id: int) -> list[Json]:
    """The instances around an iteration of a loop, the outermost first, and the iteration itself."""
    run: Row[Any] | None = find_run(connection, workflow_id, instance_id, LATEST)
    if run is not None and not run.inline:
        raise UsageError(
            "NOT_INLINE",
            f"'{workflow_id}' is no iteration of a loop",
            "name an instance of an inline workflow",
        )
    path: list[Json] = []
    step_id: str | None = None
    while run is not None:
        place = {"workflow_id": run.workflow_id, "instance_id": run.instance_id, "run_id": run.run_id}
        path.append(without_nones({**place, "step_id": step_id}))
        if not run.inline:
            break
        step_id = run.parent_step
        run = connection.execute(select(runs).where(runs.c.id == run.parent_run)).first()
    return path[::-1]


def inline_workflow_id(connection: Connection, path: Sequence[Mapping[str, Any]]) -> str:
    """The id under which the iterations of a loop run; the path names the loops, the outermost first."""
    found = str(path[0].get("workflow_id") or "")
    if not found:
        raise UsageError(
            "REQUEST_INVALID",
            "the first loop of the path names no workflow",
            "say workflow_id, instance_id and step_id of the outermost loop",
        )
    for node in path[:-1]:
        around = find_run(connection, found, int(node.get("instance_id") or 0), LATEST)
        own = select(runs.c.id).where(
            runs.c.workflow_id == around.workflow_id, runs.c.instance_id == around.instance_id
        )
        query = select(runs.c.workflow_id).where(
            runs.c.parent_run.in_(own), runs.c.parent_step == node.get("step_id"), runs.c.inline
        )
        inner = connection.execute(query.limit(1)).scalar()
        if inner is None:
            raise NotFoundError(
                "ITERATION_NOT_FOUND",
                f"the step '{node.get('step_id')}' of '{found}' has no iterations",
                "name a loop that has begun",
            )
        found = inner
    return found
