"""Runs and instances as Maestro shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select

from calve.engine.model.statuses import StepStatus
from calve.engine.views.definitions import step_definitions
from calve.engine.views.documents import Json, load, load_map, without_nones
from calve.engine.views.lookup import LATEST, find_run, find_workflow
from calve.engine.views.pages import PageRequest, read_page
from calve.engine.views.runs import latest_attempts
from calve.state.orchestration import events, runs

INSTANCE_TIMELINE_LIMIT = 32


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
    _aggregate(connection, workflow_id, [document])
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
            _aggregate(connection, workflow_id, documents)
        return documents

    return read_page(connection, query, runs.c.instance_id, request, show)


def runs_page(connection: Connection, workflow_id: str, instance_id: int, request: PageRequest) -> Json:
    """All runs of an instance, the newest first."""
    find_run(connection, workflow_id, instance_id, LATEST)
    query = select(runs).where(runs.c.workflow_id == workflow_id, runs.c.instance_id == instance_id)
    return read_page(connection, query, runs.c.run_id, request, lambda rows: _documents(connection, rows))


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
    overviews = _overviews(connection, [row for row in rows if row.overview is None])
    return [_document(row, overviews.get(row.id) or load(row.overview)) for row in rows]


def _overviews(connection: Connection, going_on: Sequence[Row[Any]]) -> dict[int, Json]:
    """How many steps of runs that are not over stand where."""
    counts: dict[int, dict[str, int]] = {row.id: {} for row in going_on}
    for step in latest_attempts(connection, list(counts)) if counts else ():
        found = counts[step.run]
        found[step.status] = found.get(step.status, 0) + 1
    totals: dict[tuple[str, int], int] = {}
    for row in going_on:
        # Runs of one version have the same steps.
        if (row.workflow_id, row.version) not in totals:
            totals[row.workflow_id, row.version] = len(step_definitions(connection, row))
    return {row.id: _overview(row, counts[row.id], totals[row.workflow_id, row.version]) for row in going_on}


def _overview(run: Row[Any], counts: Mapping[str, int], defined: int) -> Json:
    begun = sum(counts.values())
    total = max(defined, begun)
    shown = {**counts, StepStatus.NOT_CREATED.value: total - begun} if total > begun else counts
    return {
        "total_step_count": total,
        "step_overview": {status: {"cnt": count} for status, count in shown.items()},
        "run_status": run.status,
    }


def _document(run: Row[Any], overview: Json) -> Json:
    return without_nones(
        {
            "workflow_id": run.workflow_id,
            "workflow_instance_id": run.instance_id,
            "workflow_run_id": run.run_id,
            "workflow_uuid": run.uuid,
            "workflow_version_id": run.version,
            "run_config": load_map(run.request) or None,
            "params": load_map(run.params),
            "initiator": load_map(run.initiator),
            "status": run.status,
            "create_time": run.created_at,
            "start_time": run.started_at,
            "end_time": run.ended_at,
            "modify_time": run.ended_at or run.started_at or run.created_at,
            "runtime_overview": overview,
            "paused": run.paused,
            "blocking": run.blocking,
            "error": load(run.error),
        }
    )


def _aggregate(connection: Connection, workflow_id: str, documents: Sequence[Json]) -> None:
    """Lay all runs of each instance over each other: of each step, what its newest run made of it."""
    instances = {document["workflow_instance_id"]: document for document in documents}
    query = select(runs.c.id, runs.c.instance_id, runs.c.run_id).where(
        runs.c.workflow_id == workflow_id, runs.c.instance_id.in_(list(instances))
    )
    known = {row.id: row for row in connection.execute(query)}
    for document in documents:
        document["aggregated_info"] = {
            "step_aggregated_views": {},
            "workflow_instance_status": document["status"],
        }
    for step in sorted(latest_attempts(connection, known), key=lambda step: known[step.run].run_id):
        run = known[step.run]
        views = instances[run.instance_id]["aggregated_info"]["step_aggregated_views"]
        views[step.step_id] = without_nones(
            {
                "workflow_run_id": run.run_id,
                "status": step.status,
                "start_time": step.started_at,
                "end_time": step.ended_at,
            }
        )
