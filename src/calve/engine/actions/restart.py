"""Restarting: a further run of an instance, from its beginning, from what is incomplete, or from a step."""

from __future__ import annotations

import json
import uuid
from typing import Any

from sqlalchemy import Connection, insert, select, update

from calve.engine.actions.start import Parent, enqueue, evaluate_workflow, find_by_uuid, inherited
from calve.engine.catalog.rows import lock_workflow
from calve.engine.catalog.versions import load_definition
from calve.engine.core.graph import Graph, graph_of
from calve.engine.core.step_state import params_from_text
from calve.engine.model.requests import RestartPolicy, RestartRequest, Started
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.outbox import dump
from calve.errors import NotFoundError, RefusedError
from calve.state.orchestration import runs, steps
from calve.workflow.params import ParamSource, RunRequest, params_to_json, restart_params


def restart_run(
    connection: Connection, row: Any, request: RestartRequest, now_ms: int, parent: Parent | None = None
) -> Started:
    """Queue a further run after `row`, the newest run of its instance."""
    _check_place(row, parent)
    workflow = lock_workflow(connection, row.workflow_id)
    if request.request_id is not None:
        known = find_by_uuid(connection, row.workflow_id, request.request_id)
        if known is not None:
            return known
    _check_over(row)
    definition = load_definition(connection, row.workflow_id, row.version)
    graph = graph_of(definition.workflow.steps)
    carried = _carried(connection, row, graph, request)
    initiator = json.loads(row.initiator)
    policy = request.policy.value
    source = ParamSource.SUBWORKFLOW if parent is not None else ParamSource.RESTART
    merged = restart_params(
        params_from_text(row.params), RunRequest(request.params, source, upstream=parent is not None)
    )
    run_id = row.run_id + 1
    params = evaluate_workflow(definition, workflow, merged, initiator, row.instance_id, run_id, policy)
    connection.execute(update(runs).where(runs.c.id == row.id).values(latest=False, blocking=False))
    made = {
        "workflow_id": row.workflow_id,
        "instance_id": row.instance_id,
        "run_id": run_id,
        "version": row.version,
        "uuid": request.request_id or str(uuid.uuid4()),
        "initiator": row.initiator,
        "request": dump({**_wish(request), **inherited(parent)}),
        "parent_run": row.parent_run if parent is None else parent.run,
        "parent_step": row.parent_step if parent is None else parent.step_id,
        "root_run": row.root_run if parent is None else parent.root_run,
        "depth": row.depth if parent is None else parent.depth,
    }
    started = enqueue(connection, workflow, definition, made, params, now_ms)
    if carried:
        connection.execute(insert(steps), [{**step, "run": started.run} for step in carried])
    return started


def _wish(request: RestartRequest) -> dict[str, Any]:
    return {
        "policy": request.policy.value,
        "skip": list(request.skip),
        "step_params": {step: params_to_json(given) for step, given in request.step_params.items()},
    }


def _check_over(row: Any) -> None:
    if not RunStatus(row.status).is_terminal:
        raise RefusedError(
            "INSTANCE_NOT_OVER",
            f"instance {row.instance_id} of '{row.workflow_id}' is {row.status}, not over",
            "stop it first, or restart one of its steps",
        )


def _check_place(row: Any, parent: Parent | None) -> None:
    if parent is None and row.parent_run is not None:
        raise RefusedError(
            "INSTANCE_NESTED",
            f"instance {row.instance_id} of '{row.workflow_id}' is part of step '{row.parent_step}'",
            "restart the instance around it; what is complete is not run again",
        )


def _carried(connection: Connection, row: Any, graph: Graph, request: RestartRequest) -> list[dict[str, Any]]:
    """The rows of the steps that are not run again."""
    if request.policy is RestartPolicy.RESTART_FROM_BEGINNING:
        return []
    rerun: set[str] = set(request.skip)
    if request.step_id is not None:
        if request.step_id not in graph.steps:
            raise NotFoundError(
                "STEP_NOT_FOUND",
                f"'{row.workflow_id}' has no step '{request.step_id}'",
                f"name one of {', '.join(graph.steps)}",
            )
        rerun |= {request.step_id, *graph.descendants(request.step_id)}
    found = connection.execute(
        select(steps).where(steps.c.run == row.id).order_by(steps.c.attempt_id)
    ).mappings()
    newest = {step["step_id"]: dict(step) for step in found if step["step_id"] in graph.steps}
    complete = {name for name, step in newest.items() if StepStatus(step["status"]).is_complete}
    # What comes after a step that runs again has to be looked at again as well.
    for name in graph.steps:
        if name in rerun or name not in complete:
            rerun |= {
                name,
                *(later for later in graph.descendants(name) if later in complete and name in rerun),
            }
    return [
        {**newest[name], "carried": True} for name in graph.steps if name in complete and name not in rerun
    ]
