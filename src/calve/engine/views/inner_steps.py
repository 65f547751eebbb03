"""Steps inside loops, by a path from outside: `loop:iteration:step`, deeper ones in the same way."""

from __future__ import annotations

from sqlalchemy import Connection, select

from calve.engine.core.inline_ids import inline_workflow_id
from calve.engine.views.lookup import parse_number
from calve.errors import NotFoundError, UsageError
from calve.state.orchestration import runs

SEPARATOR = ":"
LOOPS = ("foreach", "while")


def find_inner_step(
    connection: Connection, workflow_id: str, instance_id: int, path: str
) -> tuple[str, int, str]:
    """The workflow, the instance and the step that a path means; a plain step id means itself."""
    *around, step_id = path.split(SEPARATOR)
    if len(around) % 2:
        raise UsageError(
            "STEP_PATH_INVALID",
            f"found the step '{path}'",
            f"name a step, or one inside a loop as loop{SEPARATOR}iteration{SEPARATOR}step",
        )
    for loop, number in zip(around[::2], around[1::2], strict=True):
        iteration = parse_number(number, "iteration")
        workflow_id = _inline_id(connection, workflow_id, instance_id, loop, iteration)
        instance_id = iteration
    return workflow_id, instance_id, step_id


def _inline_id(connection: Connection, workflow_id: str, instance_id: int, loop: str, iteration: int) -> str:
    known = [inline_workflow_id(kind, workflow_id, instance_id, loop) for kind in LOOPS]
    query = select(runs.c.workflow_id).where(runs.c.workflow_id.in_(known), runs.c.instance_id == iteration)
    found = connection.execute(query.limit(1)).scalar()
    if found is None:
        raise NotFoundError(
            "ITERATION_NOT_FOUND",
            f"instance {instance_id} of '{workflow_id}' has no iteration {iteration} of a loop '{loop}'",
            "iterations count from 1; check the id of the loop",
        )
    return str(found)
