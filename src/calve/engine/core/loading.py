"""Runs from the database into memory: when an engine takes one over, and after a failed transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, select

from calve.engine.catalog.rows import WorkflowRow, read_properties
from calve.engine.catalog.versions import load_definition
from calve.engine.core.graph import graph_of
from calve.engine.core.run_state import SKIP_REST, RunState
from calve.engine.core.step_state import StepState
from calve.engine.model.statuses import RunStatus
from calve.state.orchestration import runs, steps, workflows
from calve.workflow.definition import WorkflowDefinition
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.steps import LoopStep, Step


def load_run(
    connection: Connection, run: int, known: Mapping[int, RunState], workflow: WorkflowRow | None = None
) -> RunState | None:
    """A run with the newest attempts of its steps; None if there is no such run."""
    row = connection.execute(_RUN, {"run": run}).first()
    if row is None:
        return None
    origin = json.loads(row.request).get("loop") or {}
    definition = load_definition(
        connection, origin.get("workflow_id", row.workflow_id), row.version, workflow
    )
    graph = graph_of(loop_steps(definition, origin.get("step_id")))
    outer = outer_values(connection, row.parent_run, known) if row.inline else {}
    properties = workflow.properties if workflow else load_properties(connection, definition.workflow.id)
    state = RunState.from_row(row, definition, graph, properties, outer)
    is_new = state.status is RunStatus.CREATED and state.run_id == 1
    found = () if is_new else connection.execute(_STEPS, {"run": run}).all()
    # The newest attempt comes last, and stays.
    state.steps = {step.step_id: StepState.from_row(step, graph.steps[step.step_id]) for step in found}
    state.skip_rest = any(SKIP_REST in step.artifacts and not step.carried for step in state.steps.values())
    return state


def loop_steps(definition: WorkflowDefinition, loop: str | None) -> tuple[Step, ...]:
    """The steps of a workflow, or those inside one of its loops."""
    if loop is None:
        return definition.workflow.steps
    found = next(step for step in definition.workflow.all_steps() if step.id == loop)
    assert isinstance(found, LoopStep)
    return found.steps


def load_properties(connection: Connection, workflow_id: str) -> Properties:
    """The properties of a workflow as they are now."""
    text = connection.execute(_PROPERTIES, {"workflow_id": workflow_id}).scalar()
    return Properties() if text is None else read_properties(text)


_RUN = select(runs).where(runs.c.id == bindparam("run"))
_STEPS = select(steps).where(steps.c.run == bindparam("run")).order_by(steps.c.attempt_id)
_PROPERTIES = select(workflows.c.properties).where(workflows.c.workflow_id == bindparam("workflow_id"))


def outer_values(connection: Connection, parent: int | None, known: Mapping[int, RunState]) -> dict[str, Any]:
    """The params of the runs around an iteration."""
    if parent is None:
        return {}
    if parent in known:
        return known[parent].values
    row = connection.execute(
        select(runs.c.params, runs.c.parent_run, runs.c.inline).where(runs.c.id == parent)
    ).one()
    around = outer_values(connection, row.parent_run, known) if row.inline else {}
    own = {name: document.get("evaluated_result") for name, document in json.loads(row.params).items()}
    return {**around, **own}
