"""The row of a workflow: found, or locked so that only this transaction changes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, literal, select, update

from calve.engine.model.statuses import RunStatus
from calve.engine.outbox import dump
from calve.engine.views.lookup import no_workflow
from calve.state.orchestration import runs, workflows
from calve.workflow.definition.properties import Properties


@dataclass(frozen=True, slots=True)
class WorkflowRow:
    """A workflow as the state has it."""

    workflow_id: str
    latest_version: int
    active_version: int | None
    latest_instance_id: int
    properties: Properties
    properties_version: int
    paused: bool
    created_at: int


_READ = select(workflows).where(workflows.c.workflow_id == bindparam("id"))
_LOCK = _READ.with_for_update()
_TRY_LOCK = _READ.with_for_update(skip_locked=True)
_COUNT_INSTANCE = (
    update(workflows)
    .where(workflows.c.workflow_id == bindparam("id"))
    .values(latest_instance_id=workflows.c.latest_instance_id + 1, updated_at=bindparam("now"))
)


def read_workflow(connection: Connection, workflow_id: str) -> WorkflowRow:
    """A workflow; WORKFLOW_NOT_FOUND if there is none."""
    return _require(connection, workflow_id, _READ)


def lock_workflow(connection: Connection, workflow_id: str) -> WorkflowRow:
    """A workflow that nobody else changes until the transaction ends; WORKFLOW_NOT_FOUND if there is none."""
    return _require(connection, workflow_id, _LOCK)


def try_lock_workflow(connection: Connection, workflow_id: str) -> WorkflowRow | None:
    """A workflow as `lock_workflow` gives it; None if it is gone, or if somebody else has it just now."""
    found = connection.execute(_TRY_LOCK, {"id": workflow_id}).first()
    return None if found is None else _from(found)


def has_workflow(connection: Connection, workflow_id: str) -> bool:
    """Whether a workflow is there."""
    return connection.execute(_READ, {"id": workflow_id}).first() is not None


def find_locked(connection: Connection, workflow_id: str) -> WorkflowRow | None:
    """A workflow as `lock_workflow` gives it; None if there is none."""
    found = connection.execute(_LOCK, {"id": workflow_id}).first()
    return None if found is None else _from(found)


def change_workflow(connection: Connection, workflow_id: str, now_ms: int, **columns: Any) -> None:
    """Change the row of a workflow that is locked."""
    if isinstance(columns.get("properties"), Properties):
        columns["properties"] = dump(columns["properties"].to_json())
    connection.execute(
        update(workflows).where(workflows.c.workflow_id == workflow_id).values(updated_at=now_ms, **columns)
    )


def count_instance(connection: Connection, workflow: WorkflowRow, now_ms: int) -> int:
    """The number of a new instance of a workflow that is locked."""
    connection.execute(_COUNT_INSTANCE, {"id": workflow.workflow_id, "now": now_ms})
    return workflow.latest_instance_id + 1


def count_unfinished(connection: Connection, workflow_id: str, at_most: int) -> int:
    """How many instances are queued or under way; counting stops at `at_most`."""
    total = 0
    for status in (RunStatus.CREATED, RunStatus.IN_PROGRESS):
        # The status stands in the text of the statement, so that the partial index of that status serves it.
        query = select(runs.c.id).where(
            runs.c.workflow_id == workflow_id,
            runs.c.status == literal(status.value, literal_execute=True),
        )
        total += len(connection.execute(query.limit(at_most - total)).all())
        if total >= at_most:
            break
    return total


def _require(connection: Connection, workflow_id: str, query: Select[Any]) -> WorkflowRow:
    found = connection.execute(query, {"id": workflow_id}).first()
    if found is None:
        raise no_workflow(connection, workflow_id)
    return _from(found)


# Rows are read far more often than their properties change, and properties are frozen.
@lru_cache(maxsize=1024)
def read_properties(text: str) -> Properties:
    """Properties as a column keeps them."""
    return Properties.model_validate_json(text)


def _from(row: Row[Any]) -> WorkflowRow:
    return WorkflowRow(
        row.workflow_id,
        row.latest_version,
        row.active_version,
        row.latest_instance_id,
        read_properties(row.properties),
        row.properties_version,
        row.paused,
        row.created_at,
    )
