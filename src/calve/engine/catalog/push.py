"""Pushing a definition: a new version, for good; properties merged; triggers of the active version."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert

from calve.engine.catalog.properties import log_change, refuse_tags, store_properties, sync_active
from calve.engine.catalog.rows import WorkflowRow, change_workflow, find_locked
from calve.engine.outbox import dump, record_event, wake_queue
from calve.engine.triggers.subscriptions import sync_triggers
from calve.errors import UsageError
from calve.state.dialect import lock_name
from calve.state.orchestration import workflow_versions, workflows
from calve.workflow.definition import WorkflowDefinition
from calve.workflow.definition.properties import User


@dataclass(frozen=True, slots=True)
class Pushed:
    """A version that was pushed; `active` says whether it is the active one now."""

    workflow_id: str
    version: int
    active: bool


def push(connection: Connection, definition: WorkflowDefinition, author: str, now_ms: int) -> Pushed:
    """Keep a checked definition as the next version, even the same one again; activate it if it says so."""
    refuse_tags(definition.properties)
    workflow_id = definition.workflow.id
    lock_name(connection, "workflow", workflow_id)
    former = find_locked(connection, workflow_id)
    if former is None:
        former = _create(connection, definition, author, now_ms)
        properties = former.properties
    else:
        properties = definition.properties.merged_over(former.properties)
        store_properties(connection, former, properties, author, now_ms)
    version = former.latest_version + 1
    active = version if definition.is_active else former.active_version
    connection.execute(
        insert(workflow_versions).values(
            workflow_id=workflow_id,
            version=version,
            definition=dump(definition.to_json()),
            author=author,
            created_at=now_ms,
        )
    )
    change_workflow(connection, workflow_id, now_ms, latest_version=version, active_version=active)
    if definition.is_active:
        sync_triggers(connection, workflow_id, definition.workflow, properties, now_ms)
    else:
        sync_active(connection, workflow_id, active, properties, now_ms)
    data = {"action": "pushed", "version": version, "active": definition.is_active, "author": author}
    record_event(connection, now_ms, "workflow", workflow_id, data)
    wake_queue(connection, workflow_id)
    return Pushed(workflow_id, version, definition.is_active)


def _create(connection: Connection, definition: WorkflowDefinition, author: str, now_ms: int) -> WorkflowRow:
    properties = definition.properties
    if properties.owner is None:
        properties = properties.model_copy(update={"owner": _owner(definition.workflow.id, author)})
    workflow = WorkflowRow(definition.workflow.id, 0, None, 0, properties, 1, paused=False, created_at=now_ms)
    connection.execute(
        insert(workflows).values(
            workflow_id=workflow.workflow_id,
            latest_version=workflow.latest_version,
            active_version=workflow.active_version,
            latest_instance_id=workflow.latest_instance_id,
            properties=dump(properties.to_json()),
            properties_version=workflow.properties_version,
            paused=workflow.paused,
            created_at=now_ms,
            updated_at=now_ms,
        )
    )
    log_change(connection, workflow.workflow_id, 1, properties, author, now_ms)
    return workflow


def _owner(workflow_id: str, author: str) -> User:
    if author:
        return User(name=author)
    raise UsageError(
        "OWNER_MISSING", f"the workflow '{workflow_id}' has no owner", "state `owner`, or say who pushes"
    )
