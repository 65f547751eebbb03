"""Workflows: overviews, versions, properties, what happened to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, literal, select

from calve.engine.catalog.versions import resolve_version
from calve.engine.model.statuses import RunStatus
from calve.engine.views.counting import count_some
from calve.engine.views.documents import Json, load_map, named, version_workflow, without_nones
from calve.engine.views.lookup import find_workflow
from calve.engine.views.pages import PageRequest, read_page
from calve.engine.views.refusals import trigger_words
from calve.errors import NotFoundError, UsageError
from calve.state.orchestration import events, property_changes, runs, workflow_versions
from calve.workflow.definition.properties import STEP_CONCURRENCY_DEFAULT

TIMELINE_LIMIT = 300
_NO_SNAPSHOT = "PROPERTIES_NOT_FOUND"


def workflow_overview(connection: Connection, workflow_id: str) -> Json:
    """What is known of a workflow without a look at its definition."""
    row = find_workflow(connection, workflow_id)
    properties = load_map(row.properties)
    nonterminal = {
        status.value: count_some(connection, _unfinished(workflow_id, status))
        for status in (RunStatus.CREATED, RunStatus.IN_PROGRESS)
    }
    # As a bare column, which is how the partial index says it.
    blocking = select(literal(1)).where(runs.c.workflow_id == workflow_id, runs.c.blocking)
    return without_nones(
        {
            "workflow_id": workflow_id,
            "active_version_id": row.active_version,
            "latest_version_id": row.latest_version,
            "default_version_id": row.active_version or row.latest_version,
            "properties_snapshot": _snapshot(row, properties),
            "step_concurrency": properties.get("step_concurrency", STEP_CONCURRENCY_DEFAULT),
            "nonterminal_instances": {status: count for status, count in nonterminal.items() if count},
            "failed_instances": count_some(connection, blocking),
            "latest_instance_id": row.latest_instance_id,
            "paused": row.paused,
        }
    )


def workflow_version(connection: Connection, workflow_id: str, version: str | int) -> Json:
    """A version with its definition, and the properties that are in force."""
    number = resolve_version(connection, workflow_id, version)
    query = select(workflow_versions).where(
        workflow_versions.c.workflow_id == workflow_id, workflow_versions.c.version == number
    )
    return _version(find_workflow(connection, workflow_id), connection.execute(query).one())


def workflow_versions_page(connection: Connection, workflow_id: str, request: PageRequest) -> Json:
    """Versions, the newest first."""
    workflow = find_workflow(connection, workflow_id)
    query = select(workflow_versions).where(workflow_versions.c.workflow_id == workflow_id)

    def show(rows: Sequence[Row[Any]]) -> list[Json]:
        return [_version(workflow, row) for row in rows]

    return read_page(connection, query, workflow_versions.c.version, request, show)


def properties_snapshot(connection: Connection, workflow_id: str, snapshot: str = "latest") -> Json:
    """The properties as they are, or as a change of that number made them."""
    workflow = find_workflow(connection, workflow_id)
    query = select(property_changes).where(property_changes.c.workflow_id == workflow_id)
    if snapshot.lower() == "latest":
        query = query.order_by(property_changes.c.properties_version.desc()).limit(1)
    elif snapshot.isascii() and snapshot.isdigit() and len(snapshot) < 10:
        query = query.where(property_changes.c.properties_version == int(snapshot))
    else:
        raise UsageError("NUMBER_INVALID", f"found the snapshot '{snapshot}'", "use 'latest' or a number")
    found = connection.execute(query).first()
    if found is None:
        raise NotFoundError(
            _NO_SNAPSHOT,
            f"the workflow '{workflow_id}' has no properties of number {snapshot}",
            f"the latest is {workflow.properties_version}",
        )
    return {
        "workflow_id": workflow_id,
        "snapshot_id": found.properties_version,
        "create_time": found.created_at,
        "author": named(found.author),
        **load_map(found.properties),
    }


def workflow_timeline(connection: Connection, workflow_id: str) -> Json:
    """What people and triggers did to a workflow, the newest first."""
    find_workflow(connection, workflow_id)
    query = (
        select(events.c.at, events.c.data)
        .where(events.c.workflow_id == workflow_id, events.c.run.is_(None))
        .order_by(events.c.id.desc())
        .limit(TIMELINE_LIMIT)
    )
    return {
        "workflow_id": workflow_id,
        "timeline_events": [_timeline_event(row.at, load_map(row.data)) for row in connection.execute(query)],
    }


def _timeline_event(at: int, data: Json) -> Json:
    rest = {key: value for key, value in data.items() if key not in ("author", "log")}
    return {
        "author": named(data.get("author") or ""),
        "log": data.get("log")
        or trigger_words(data)
        or ", ".join(f"{key}: {value}" for key, value in rest.items()),
        "timestamp": at,
        **rest,
    }


def _unfinished(workflow_id: str, status: RunStatus) -> Select[Any]:
    # The status stands in the text of the statement, so that the partial index of that status serves it.
    return select(literal(1)).where(
        runs.c.workflow_id == workflow_id, runs.c.status == literal(status.value, literal_execute=True)
    )


def _version(workflow: Row[Any], version: Row[Any]) -> Json:
    definition = load_map(version.definition)
    extra = {
        key: value
        for key, value in definition.items()
        if key not in ("workflow", "properties", "is_active", "git_info")
    }
    return {
        "properties_snapshot": _snapshot(workflow, load_map(workflow.properties)),
        "metadata": without_nones(
            {
                "workflow_id": workflow.workflow_id,
                "workflow_version_id": version.version,
                "create_time": version.created_at,
                "version_author": named(version.author),
                "git_info": definition.get("git_info"),
                **extra,
            }
        ),
        "workflow": version_workflow(definition),
        "is_active": version.version == workflow.active_version,
        "is_latest": version.version == workflow.latest_version,
        "is_default": version.version == (workflow.active_version or workflow.latest_version),
        "modify_time": workflow.updated_at,
    }


def _snapshot(workflow: Row[Any], properties: Json) -> Json:
    return {"workflow_id": workflow.workflow_id, "snapshot_id": workflow.properties_version, **properties}
