"""Versions of workflows: which one is meant, and what it says."""

from __future__ import annotations

import threading
from collections import OrderedDict

from sqlalchemy import URL, Connection, bindparam, select

from calve.engine.catalog.rows import WorkflowRow, read_workflow
from calve.errors import NotFoundError, UsageError
from calve.state.orchestration import workflow_versions
from calve.workflow.definition import WorkflowDefinition

ACTIVE = "active"
LATEST = "latest"
DEFAULT = "default"
CACHE_SIZE = 256

#: A version never changes, but a workflow may be deleted and pushed anew: then it was made at another time.
_Key = tuple[URL, str, int, int]


_THIS_VERSION = (
    workflow_versions.c.workflow_id == bindparam("workflow_id"),
    workflow_versions.c.version == bindparam("number"),
)
_CREATED_AT = select(workflow_versions.c.created_at).where(*_THIS_VERSION)
_DEFINITION = select(workflow_versions.c.definition).where(*_THIS_VERSION)


def resolve_version(connection: Connection, workflow_id: str, version: str | int) -> int:
    """The version that is meant: `active`, `latest`, `default` (active, else latest), or a number."""
    return version_of(read_workflow(connection, workflow_id), version)


def version_of(workflow: WorkflowRow, version: str | int) -> int:
    """The version of a workflow that a word or a number means, as `resolve_version` says it."""
    word = str(version).lower()
    if word == LATEST:
        return workflow.latest_version
    if word == DEFAULT:
        return workflow.active_version or workflow.latest_version
    if word == ACTIVE:
        return _active(workflow)
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise UsageError(
            "VERSION_INVALID",
            f"found the version '{version}'",
            f"use {ACTIVE}, {LATEST}, {DEFAULT} or a number",
        )
    if not 1 <= int(word) <= workflow.latest_version:
        raise _no_version(workflow.workflow_id, version)
    return int(word)


def load_definition(
    connection: Connection, workflow_id: str, version: int, workflow: WorkflowRow | None = None
) -> WorkflowDefinition:
    """What a version says; VERSION_NOT_FOUND if it is not there. Quicker with the workflow's row at hand."""
    place = {"workflow_id": workflow_id, "number": version}
    made_at = workflow.created_at if workflow else connection.execute(_CREATED_AT, place).scalar()
    if made_at is None:
        raise _no_version(workflow_id, version)
    key = (connection.engine.url, workflow_id, version, made_at)
    found = _cache.get(key)
    if found is None:
        text = connection.execute(_DEFINITION, place).scalar()
        if text is None:
            raise _no_version(workflow_id, version)
        found = WorkflowDefinition.model_validate_json(text)
        _cache.put(key, found)
    return found


def forget_definitions() -> None:
    """Read every version again when it is next asked for."""
    _cache.clear()


class _Cache:
    """The definitions that were used last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._found: OrderedDict[_Key, WorkflowDefinition] = OrderedDict()

    def get(self, key: _Key) -> WorkflowDefinition | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: _Key, definition: WorkflowDefinition) -> None:
        with self._lock:
            self._found[key] = definition
            while len(self._found) > self._size:
                self._found.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._found.clear()


_cache = _Cache(CACHE_SIZE)


def _active(workflow: WorkflowRow) -> int:
    if workflow.active_version is None:
        raise NotFoundError(
            "WORKFLOW_NOT_ACTIVE",
            f"the workflow '{workflow.workflow_id}' has no active version",
            f"activate one, or name '{LATEST}' or a number",
        )
    return workflow.active_version


def _no_version(workflow_id: str, version: str | int) -> NotFoundError:
    return NotFoundError(
        "VERSION_NOT_FOUND",
        f"the workflow '{workflow_id}' has no version {version}",
        f"name '{LATEST}', or see the versions with `calve show {workflow_id}`",
    )
