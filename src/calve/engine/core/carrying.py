"""Steps that an earlier run of an instance has completed, taken over by a later one."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.state.orchestration import runs, steps


def carried_steps(connection: Connection, run: RunState, earlier_run_id: int) -> Iterator[StepState]:
    """The complete steps of an earlier run, as steps of this one."""
    rows = connection.execute(
        select(steps)
        .join(runs, runs.c.id == steps.c.run)
        .where(
            runs.c.workflow_id == run.workflow_id,
            runs.c.instance_id == run.instance_id,
            runs.c.run_id == earlier_run_id,
        )
        .order_by(steps.c.attempt_id)
    ).all()
    newest = {row.step_id: row for row in rows if row.step_id in run.graph.steps}
    for row in newest.values():
        step = StepState.from_row(row, run.graph.steps[row.step_id])
        if step.status.is_complete:
            step.run, step.stored, step.carried = run.id, None, True
            yield step
