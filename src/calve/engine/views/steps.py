"""Attempts of steps, as Maestro shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, literal, select

from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.views.definitions import step_definitions
from calve.engine.views.documents import Json, load, load_map, without_nones
from calve.engine.views.lookup import LATEST, find_run, find_workflow, parse_number
from calve.engine.views.run_documents import run_timeline
from calve.engine.views.runs import latest_attempts
from calve.errors import NotFoundError
from calve.state.orchestration import events, runs, steps
from calve.workflow.definition.problems import nearest

#: Where the time of entering a status stands in `runtime_state`.
_TIMES = {
    StepStatus.INITIALIZED: "initialize_time",
    StepStatus.PAUSED: "pause_time",
    StepStatus.WAITING_FOR_SIGNALS: "wait_signal_time",
    StepStatus.EVALUATING_PARAMS: "evaluate_param_time",
    StepStatus.WAITING_FOR_PERMITS: "wait_permit_time",
    StepStatus.RUNNING: "execute_time",
    StepStatus.FINISHING: "finish_time",
}
_PAUSED_LIMIT = 1_000


def run_steps(connection: Connection, workflow_id: str, instance_id: int, run_id: str | int) -> list[Json]:
    """The newest attempt of every step of a run; an error if none has begun."""
    run = find_run(connection, workflow_id, instance_id, run_id)
    rows = latest_attempts(connection, [run.id])
    if not rows:
        raise NotFoundError(
            "STEP_NOT_FOUND",
            f"run {run.run_id} of instance {instance_id} of '{workflow_id}' has no steps yet",
            "ask again once it has begun",
        )
    return _documents(connection, run, rows)


def instance_steps(connection: Connection, workflow_id: str, instance_id: int) -> list[Json]:
    """Of every step of an instance, the newest attempt in the newest run that has it."""
    found: dict[str, Json] = {}
    for run in _all_runs(connection, workflow_id, instance_id):
        for document in _documents(connection, run, latest_attempts(connection, [run.id])):
            found[document["step_id"]] = document
    return list(found.values())


def instance_step(connection: Connection, workflow_id: str, instance_id: int, step_id: str) -> Json:
    """A step of an instance: its newest attempt in the newest run that has it."""
    for run in reversed(_all_runs(connection, workflow_id, instance_id)):
        row = _attempt_row(connection, run, step_id, LATEST)
        if row is not None:
            return _documents(connection, run, [row])[0]
    raise _no_step(connection, find_run(connection, workflow_id, instance_id, LATEST), step_id)


def step_attempt(
    connection: Connection,
    workflow_id: str,
    instance_id: int,
    run_id: str | int,
    step_id: str,
    attempt: str | int = LATEST,
) -> Json:
    """One attempt of a step: the latest, or one by its number."""
    run = find_run(connection, workflow_id, instance_id, run_id)
    row = _attempt_row(connection, run, step_id, attempt)
    if row is None:
        raise _no_step(connection, run, step_id, attempt)
    return _documents(connection, run, [row])[0]


def paused_attempts(connection: Connection, workflow_id: str, step_id: str) -> list[Json]:
    """The attempts of a step that a breakpoint or a pause holds."""
    find_workflow(connection, workflow_id)
    query = (
        select(runs, steps.c.attempt_id, steps.c.created_at.label("step_created_at"))
        .join(steps, steps.c.run == runs.c.id)
        .where(
            runs.c.workflow_id == workflow_id,
            # In the text of the statement, so that the partial index of that status serves it.
            runs.c.status == literal(RunStatus.IN_PROGRESS.value, literal_execute=True),
            steps.c.step_id == step_id,
            steps.c.status == StepStatus.PAUSED.value,
        )
        .order_by(runs.c.id)
        .limit(_PAUSED_LIMIT)
    )
    return [
        {
            "workflow_id": row.workflow_id,
            "step_id": step_id,
            "workflow_version_id": row.version,
            "workflow_instance_id": row.instance_id,
            "workflow_run_id": row.run_id,
            "step_attempt_id": row.attempt_id,
            "create_time": row.step_created_at,
        }
        for row in connection.execute(query)
    ]


def _all_runs(connection: Connection, workflow_id: str, instance_id: int) -> Sequence[Row[Any]]:
    find_run(connection, workflow_id, instance_id, LATEST)
    query = select(runs).where(runs.c.workflow_id == workflow_id, runs.c.instance_id == instance_id)
    return connection.execute(query.order_by(runs.c.run_id)).all()


def _attempt_row(connection: Connection, run: Row[Any], step_id: str, attempt: str | int) -> Row[Any] | None:
    query = select(steps).where(steps.c.run == run.id, steps.c.step_id == step_id)
    if str(attempt).lower() == LATEST:
        query = query.order_by(steps.c.attempt_id.desc()).limit(1)
    else:
        query = query.where(steps.c.attempt_id == parse_number(attempt, "attempt"))
    return connection.execute(query).first()


def _no_step(
    connection: Connection, run: Row[Any], step_id: str, attempt: str | int = LATEST
) -> NotFoundError:
    where = f"run {run.run_id} of instance {run.instance_id} of '{run.workflow_id}'"
    known = step_definitions(connection, run)
    if step_id not in known:
        guess = nearest(step_id, known)
        remedy = f"its steps are {', '.join(known)}" if guess is None else f"did you mean '{guess}'?"
        return NotFoundError("STEP_NOT_FOUND", f"{where} has no step '{step_id}'", remedy)
    if str(attempt).lower() == LATEST:
        return NotFoundError(
            "STEP_NOT_FOUND", f"the step '{step_id}' of {where} has not begun", "ask again once it has begun"
        )
    return NotFoundError(
        "ATTEMPT_NOT_FOUND", f"the step '{step_id}' of {where} has no attempt {attempt}", "use 'latest'"
    )


def _documents(connection: Connection, run: Row[Any], rows: Sequence[Row[Any]]) -> list[Json]:
    defined = step_definitions(connection, run)
    times = _times(connection, run.id)
    alone = len(rows) == 1
    documents = []
    for row in rows:
        definition = dict(defined.get(row.step_id, {}))
        kind = definition.pop("kind", "step")
        document = _document(run, row, times.get((row.step_id, row.attempt_id), {}))
        document["definition"] = {kind: definition}
        document["transition"] = definition.get("transition", {})
        if alone:
            conditions = (events.c.step_id == row.step_id, events.c.attempt_id == row.attempt_id)
            document["timeline"] = {"timeline_events": run_timeline(connection, run.id, *conditions)}
        documents.append(document)
    return documents


def _times(connection: Connection, run: int) -> dict[tuple[str, int], Json]:
    """When the attempts of a run entered the statuses that have a time of their own."""
    query = select(events.c.step_id, events.c.attempt_id, events.c.data).where(
        events.c.run == run, events.c.kind == "step"
    )
    found: dict[tuple[str, int], Json] = {}
    for row in connection.execute(query.order_by(events.c.id)):
        times = found.setdefault((row.step_id, row.attempt_id), {})
        for status, at in load_map(row.data).get("path", []):
            if status in _TIMES:
                times[_TIMES[StepStatus(status)]] = at
    return found


def _document(run: Row[Any], row: Row[Any], times: Json) -> Json:
    return without_nones(
        {
            "workflow_id": run.workflow_id,
            "workflow_instance_id": run.instance_id,
            "workflow_run_id": run.run_id,
            "step_id": row.step_id,
            "step_attempt_id": row.attempt_id,
            "workflow_uuid": run.uuid,
            "step_uuid": row.uuid,
            "workflow_version_id": run.version,
            "params": load_map(row.params),
            "step_retry": load_map(row.retries),
            "runtime_state": without_nones(
                {
                    "status": row.status,
                    "create_time": row.created_at,
                    **times,
                    "start_time": row.started_at,
                    "end_time": row.ended_at,
                    "modify_time": row.ended_at or max([row.created_at, *times.values()]),
                }
            ),
            "carried": row.carried,
            "signal_dependencies": _dependencies(row.dependencies),
            "artifacts": load_map(row.artifacts),
            "progress": load(row.progress),
            "error": load(row.error),
        }
    )


def _dependencies(text: str | None) -> Json | None:
    found = load(text)
    return None if found is None else {"info": found}
