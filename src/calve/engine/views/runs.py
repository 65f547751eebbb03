"""Runs of instances: Maestro's view of them, and the short one of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, literal, select, tuple_

from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.views.definitions import step_definitions
from calve.engine.views.documents import Json, load, load_map, plain_params, without_nones
from calve.engine.views.lookup import LATEST, find_run, find_workflow
from calve.engine.views.pages import PageRequest, read_page
from calve.errors import NotFoundError, UsageError
from calve.state.orchestration import events, runs, steps

INSTANCE_TIMELINE_LIMIT = 32
RUNS_LIMIT = 1_000
#: A status that few runs have is looked for among so many of the newest.
LOOK_BACK = 100_000


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


def run_document(
    connection: Connection, workflow_id: str, instance_id: int, run_id: str | int = LATEST
) -> Json:
    """A run as Maestro shows it."""
    run = find_run(connection, workflow_id, instance_id, run_id)
    document = _documents(connection, [run])[0]
    document["timeline"] = {"timeline_events": run_timeline(connection, run.id)}
    return document


def instance_document(connection: Connection, workflow_id: str, instance_id: int) -> Json:
    """An instance: its latest run, with what all its runs together have reached."""
    document = run_document(connection, workflow_id, instance_id)
    _aggregate(connection, [document])
    return document


def instances_page(
    connection: Connection, workflow_id: str, request: PageRequest, aggregated: bool = True
) -> Json:
    """Instances with their latest runs, the newest first."""
    find_workflow(connection, workflow_id)
    query = select(runs).where(runs.c.workflow_id == workflow_id, runs.c.latest)

    def show(rows: Sequence[Row[Any]]) -> list[Json]:
        documents = _documents(connection, rows)
        if aggregated:
            _aggregate(connection, documents)
        return documents

    return read_page(connection, query, runs.c.instance_id, request, show)


def runs_page(connection: Connection, workflow_id: str, instance_id: int, request: PageRequest) -> Json:
    """All runs of an instance, the newest first."""
    find_run(connection, workflow_id, instance_id, LATEST)
    query = select(runs).where(runs.c.workflow_id == workflow_id, runs.c.instance_id == instance_id)
    return read_page(connection, query, runs.c.run_id, request, lambda rows: _documents(connection, rows))


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
    found = str(path[0].get("workflow_id"))
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


def list_runs(
    connection: Connection, workflow_id: str | None = None, status: str | None = None, limit: int = 20
) -> Json:
    """The newest runs that are no iterations, of one workflow or of all; a status only among the newest."""
    if not 1 <= limit <= RUNS_LIMIT:
        raise UsageError("PAGE_INVALID", f"found a limit of {limit}", f"ask for 1 to {RUNS_LIMIT}")
    query = select(runs).where(~runs.c.inline)
    if workflow_id is None:
        query = query.order_by(runs.c.id.desc())
    else:
        find_workflow(connection, workflow_id)
        query = query.where(runs.c.workflow_id == workflow_id)
        query = query.order_by(runs.c.instance_id.desc(), runs.c.run_id.desc())
    if status is not None:
        query = query.where(runs.c.status == literal(_run_status(status), literal_execute=True))
        query = query.where(runs.c.id > _newest_run(connection) - LOOK_BACK)
    rows = connection.execute(query.limit(limit)).all()
    return {"runs": [_list_entry(row) for row in rows]}


def _newest_run(connection: Connection) -> int:
    return connection.execute(select(func.max(runs.c.id))).scalar() or 0


def _run_status(text: str) -> str:
    if text.upper() in RunStatus.__members__:
        return text.upper()
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


def run_timeline(connection: Connection, run: int, *conditions: ColumnElement[bool]) -> list[Json]:
    """What happened in a run, the newest first."""
    query = select(events).where(events.c.run == run, *(conditions or (events.c.step_id.is_(None),)))
    rows = connection.execute(query.order_by(events.c.id.desc()).limit(INSTANCE_TIMELINE_LIMIT))
    return [_timeline_event(row) for row in rows]


def _timeline_event(row: Row[Any]) -> Json:
    data = load_map(row.data)
    kind = "ACTION" if row.kind == "action" else "STATUS" if "status" in data or "path" in data else "DETAILS"
    return {"type": kind, "timestamp": row.at, **data}


def _documents(connection: Connection, rows: Sequence[Row[Any]]) -> list[Json]:
    going_on = [row.id for row in rows if row.overview is None]
    counted = _counts(connection, going_on) if going_on else {}
    return [_document(connection, row, counted.get(row.id, {})) for row in rows]


def _counts(connection: Connection, run_keys: Sequence[int]) -> dict[int, dict[str, int]]:
    """How many steps of runs that go on stand where."""
    counts: dict[int, dict[str, int]] = {}
    for row in latest_attempts(connection, run_keys):
        found = counts.setdefault(row.run, {})
        found[row.status] = found.get(row.status, 0) + 1
    return counts


def _document(connection: Connection, run: Row[Any], counts: Mapping[str, int]) -> Json:
    request = load_map(run.request)
    return without_nones(
        {
            "workflow_id": run.workflow_id,
            "workflow_instance_id": run.instance_id,
            "workflow_run_id": run.run_id,
            "workflow_uuid": run.uuid,
            "workflow_version_id": run.version,
            "run_config": request or None,
            "params": load_map(run.params),
            "initiator": load_map(run.initiator),
            "status": run.status,
            "create_time": run.created_at,
            "start_time": run.started_at,
            "end_time": run.ended_at,
            "modify_time": run.ended_at or run.started_at or run.created_at,
            "runtime_overview": load(run.overview) or _overview(connection, run, counts),
            "paused": run.paused,
            "blocking": run.blocking,
            "error": load(run.error),
        }
    )


def _overview(connection: Connection, run: Row[Any], counts: Mapping[str, int]) -> Json:
    total = max(len(step_definitions(connection, run)), sum(counts.values()))
    waiting = total - sum(counts.values())
    shown = {**counts, StepStatus.NOT_CREATED.value: waiting} if waiting else counts
    return {
        "total_step_count": total,
        "step_overview": {status: {"cnt": count} for status, count in shown.items()},
        "run_status": run.status,
    }


def _aggregate(connection: Connection, documents: Sequence[Json]) -> None:
    """Lay all runs of the instances over each other: of each step, what its newest run made of it."""
    for document in documents:
        query = select(runs.c.id, runs.c.run_id).where(
            runs.c.workflow_id == document["workflow_id"],
            runs.c.instance_id == document["workflow_instance_id"],
        )
        numbers = {row.id: row.run_id for row in connection.execute(query)}
        views: dict[str, Json] = {}
        for row in sorted(latest_attempts(connection, numbers), key=lambda step: numbers[step.run]):
            views[row.step_id] = without_nones(
                {
                    "workflow_run_id": numbers[row.run],
                    "status": row.status,
                    "start_time": row.started_at,
                    "end_time": row.ended_at,
                }
            )
        document["aggregated_info"] = {
            "step_aggregated_views": views,
            "workflow_instance_status": document["status"],
        }
