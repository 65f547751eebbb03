"""What people do to a workflow as a whole: activate, deactivate, pause, resume."""

from __future__ import annotations

from sqlalchemy import Connection

from calve.engine.catalog.properties import sync_active
from calve.engine.catalog.rows import change_workflow, lock_workflow
from calve.engine.catalog.versions import version_of
from calve.engine.outbox import record_event, wake_queue


def activate(connection: Connection, workflow_id: str, version: str | int, author: str, now_ms: int) -> int:
    """Make a version the active one: its triggers live, starts that name none run it. Gives its number."""
    workflow = lock_workflow(connection, workflow_id)
    number = version_of(workflow, version)
    if number != workflow.active_version:
        change_workflow(connection, workflow_id, now_ms, active_version=number)
        sync_active(connection, workflow_id, number, workflow.properties, now_ms)
        data = {"action": "activated", "version": number, "author": author}
        record_event(connection, now_ms, "workflow", workflow_id, data)
        wake_queue(connection, workflow_id)
    return number


def deactivate(connection: Connection, workflow_id: str, author: str, now_ms: int) -> int | None:
    """Leave a workflow without an active version: its triggers are gone. Gives the one that was active."""
    workflow = lock_workflow(connection, workflow_id)
    if workflow.active_version is not None:
        change_workflow(connection, workflow_id, now_ms, active_version=None)
        sync_active(connection, workflow_id, None, workflow.properties, now_ms)
        data = {"action": "deactivated", "version": workflow.active_version, "author": author}
        record_event(connection, now_ms, "workflow", workflow_id, data)
    return workflow.active_version


def pause(connection: Connection, workflow_id: str, author: str, now_ms: int) -> None:
    """Let no further instance begin: triggers and people still start instances, and these queue up."""
    _set_paused(connection, workflow_id, True, author, now_ms)


def resume(connection: Connection, workflow_id: str, author: str, now_ms: int) -> None:
    """Let what queued up begin."""
    _set_paused(connection, workflow_id, False, author, now_ms)


def _set_paused(connection: Connection, workflow_id: str, paused: bool, author: str, now_ms: int) -> None:
    if lock_workflow(connection, workflow_id).paused == paused:
        return
    change_workflow(connection, workflow_id, now_ms, paused=paused)
    data = {"action": "paused" if paused else "resumed", "author": author}
    record_event(connection, now_ms, "workflow", workflow_id, data)
    wake_queue(connection, workflow_id)
