"""Starting: a new instance, or a new run of one, in the queue of its workflow."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from calve.engine.actions.asking import ask_live_to_end, is_status, note_run, stop_queued
from calve.engine.catalog.rows import WorkflowRow, count_instance, lock_workflow
from calve.engine.catalog.versions import load_definition, version_of
from calve.engine.core.resolver import InstanceResolver, instance_fields
from calve.engine.core.step_params import PARAM_LIMITS
from calve.engine.model.requests import Started, StartOutcome, StartRequest
from calve.engine.model.statuses import RunStatus
from calve.engine.outbox import dump, wake_queue
from calve.state.orchestration import runs
from calve.workflow.definition import WorkflowDefinition
from calve.workflow.definition.durations import timeout_ms
from calve.workflow.definition.run_strategy import SEQUENTIAL, Rule
from calve.workflow.params import (
    EvaluatedParam,
    Evaluation,
    ParamDefinition,
    RunRequest,
    Scope,
    params_to_json,
    start_params,
)
from calve.workflow.params.evaluation import check_size, to_text
from calve.workflow.params.interpolation import names_in

FRESH = "START_FRESH_NEW_RUN"


@dataclass(frozen=True, slots=True)
class Parent:
    """The step that starts a subworkflow."""

    run: int
    step_id: str
    root_run: int
    depth: int
    #: How many leaf steps of the whole tree may run at a time; None: as many as other limits allow.
    at_once: int | None = None


def start_instance(
    connection: Connection, request: StartRequest, now_ms: int, parent: Parent | None = None
) -> Started:
    """Put a new instance into the queue of its workflow; the same request id gives the same instance."""
    workflow = lock_workflow(connection, request.workflow_id)
    if request.request_id is not None:
        known = find_by_uuid(connection, request.workflow_id, request.request_id)
        if known is not None:
            return known
    version = version_of(workflow, request.version)
    definition = load_definition(connection, request.workflow_id, version, workflow)
    instance_id = count_instance(connection, workflow, now_ms)
    params = _params(definition, workflow, request, instance_id, parent is not None)
    row = {
        "workflow_id": request.workflow_id,
        "instance_id": instance_id,
        "run_id": 1,
        "version": version,
        "uuid": request.request_id or str(uuid.uuid4()),
        "initiator": dump(_initiator(request, parent)),
        "request": dump(
            {
                "policy": FRESH,
                "step_params": {step: params_to_json(given) for step, given in request.step_params.items()},
                **inherited(parent),
            }
        ),
        "parent_run": None if parent is None else parent.run,
        "parent_step": None if parent is None else parent.step_id,
        "root_run": None if parent is None else parent.root_run,
        "depth": 0 if parent is None else parent.depth,
    }
    return enqueue(connection, workflow, definition, row, params, now_ms)


def inherited(parent: Parent | None) -> dict[str, Any]:
    """What a subworkflow has to heed that its parent says."""
    return {} if parent is None or parent.at_once is None else {"at_once": parent.at_once}


def enqueue(
    connection: Connection,
    workflow: WorkflowRow,
    definition: WorkflowDefinition,
    row: dict[str, Any],
    params: Mapping[str, EvaluatedParam],
    now_ms: int,
) -> Started:
    """Insert a run as its workflow's run strategy says: queued, or stopped at once."""
    workflow_id = workflow.workflow_id
    rule = (workflow.properties.run_strategy or SEQUENTIAL).rule
    outcome = StartOutcome.CREATED
    if rule is Rule.FIRST_ONLY and _unfinished(connection, workflow_id):
        outcome = StartOutcome.STOPPED
    if rule in (Rule.LAST_ONLY, Rule.SERIAL_LATEST_ONLY):
        stop_queued(connection, workflow_id, now_ms)
    if rule is Rule.LAST_ONLY:
        ask_live_to_end(connection, workflow_id, False, "run strategy", now_ms)
    status = RunStatus.STOPPED if outcome is StartOutcome.STOPPED else RunStatus.CREATED
    ended_at = now_ms if status.is_terminal else None
    text = to_text(params)
    check_size(text, PARAM_LIMITS, "the workflow")
    full = {
        **row,
        "params": text,
        "status": status.value,
        "latest": True,
        "inline": False,
        "ready": False,
        "blocking": False,
        "paused": False,
        "created_at": now_ms,
        "ended_at": ended_at,
        "deadline_at": _timeout(definition, params),
    }
    key = connection.execute(insert(runs), full).inserted_primary_key
    assert key is not None
    started = Started(workflow_id, row["instance_id"], row["run_id"], row["uuid"], outcome, key[0])
    note_run(connection, started, status, now_ms)
    wake_queue(connection, workflow_id)
    return started


def find_by_uuid(connection: Connection, workflow_id: str, request_id: str) -> Started | None:
    """What a request id has started before."""
    row = connection.execute(
        select(runs).where(runs.c.workflow_id == workflow_id, runs.c.uuid == request_id)
    ).first()
    if row is None:
        return None
    return Started(row.workflow_id, row.instance_id, row.run_id, row.uuid, StartOutcome.DUPLICATED, row.id)


def _unfinished(connection: Connection, workflow_id: str) -> bool:
    return any(
        connection.execute(
            select(runs.c.id).where(runs.c.workflow_id == workflow_id, is_status(status)).limit(1)
        ).first()
        for status in (RunStatus.CREATED, RunStatus.IN_PROGRESS)
    )


def _initiator(request: StartRequest, parent: Parent | None) -> dict[str, Any]:
    made = {"caller": request.author, **request.initiator}
    return made if parent is None else {**made, "parent": {"run": parent.run, "step_id": parent.step_id}}


def _params(
    definition: WorkflowDefinition,
    workflow: WorkflowRow,
    request: StartRequest,
    instance_id: int,
    upstream: bool,
) -> dict[str, EvaluatedParam]:
    wanted = RunRequest(request.params, request.source, upstream=upstream)
    merged = (
        start_params(definition.workflow.params, wanted) if request.params else _plain(definition, wanted)
    )
    return evaluate_workflow(definition, workflow, merged, request.initiator, instance_id, 1, FRESH)


_KEPT = 1_000
_plain_params: dict[tuple[int, str, bool], tuple[WorkflowDefinition, dict[str, ParamDefinition]]] = {}


def _plain(definition: WorkflowDefinition, wanted: RunRequest) -> dict[str, ParamDefinition]:
    """The params of a start that gives none: the same each time, so they are merged once."""
    key = (id(definition), wanted.source.value, wanted.upstream)
    known = _plain_params.get(key)
    # An id may be given again once its object is gone, so the object itself is kept and compared.
    if known is None or known[0] is not definition:
        if len(_plain_params) >= _KEPT:
            _plain_params.clear()
        _plain_params[key] = known = (definition, start_params(definition.workflow.params, wanted))
    return known[1]


def evaluate_workflow(
    definition: WorkflowDefinition,
    workflow: WorkflowRow,
    merged: Mapping[str, ParamDefinition],
    initiator: Mapping[str, Any],
    instance_id: int,
    run_id: int,
    policy: str,
) -> dict[str, EvaluatedParam]:
    """The params of a workflow, evaluated."""
    triggers = definition.workflow.time_triggers
    fields = instance_fields(
        workflow_id=workflow.workflow_id,
        instance_id=instance_id,
        run_id=run_id,
        owner=workflow.properties.owner.name if workflow.properties.owner else "",
        initiator=initiator,
        policy=policy,
        first_timezone=getattr(triggers[0], "timezone", None) if triggers else None,
    )
    return Evaluation(merged, Scope(), InstanceResolver(fields, initiator), PARAM_LIMITS).evaluate_all()


def _timeout(definition: WorkflowDefinition, params: Mapping[str, EvaluatedParam]) -> int | None:
    """How long the run may take; it becomes a deadline when the run begins."""
    stated = definition.workflow.timeout
    if stated is None:
        return None
    if isinstance(stated, str) and names_in(stated):
        evaluation = Evaluation({name: param.definition for name, param in params.items()})
        evaluation.done.update(params)
        stated = evaluation.text(stated)
    return timeout_ms(stated)
