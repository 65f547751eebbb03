"""Lists of workflows, and searches for a text in what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, select

from calve.engine.model.statuses import RunStatus
from calve.engine.views.documents import Json, load_map, without_nones
from calve.engine.views.pages import PAGE_LIMIT
from calve.engine.views.workflow_directory import KEY_COLUMNS, SHOWN_VERSION, Said, describe, read_said
from calve.errors import UsageError
from calve.state.orchestration import runs, workflow_versions, workflows

_BATCH = 1_000

_LATEST_RUN = and_(
    runs.c.workflow_id == workflows.c.workflow_id,
    runs.c.instance_id == workflows.c.latest_instance_id,
    runs.c.latest,
)
#: What the state of a workflow may be asked to be.
STATES: Mapping[str, ColumnElement[bool]] = {
    "failed": runs.c.status.in_([RunStatus.FAILED.value, RunStatus.TIMED_OUT.value]),
    "running": runs.c.status == RunStatus.IN_PROGRESS.value,
    "queued": runs.c.status == RunStatus.CREATED.value,
    "succeeded": runs.c.status == RunStatus.SUCCEEDED.value,
    "stopped": runs.c.status == RunStatus.STOPPED.value,
    "blocked": exists().where(runs.c.workflow_id == workflows.c.workflow_id, runs.c.blocking),
    "paused": workflows.c.paused,
    "inactive": workflows.c.active_version.is_(None),
    "never ran": workflows.c.latest_instance_id == 0,
}
_OF_LATEST_RUN = frozenset({"failed", "running", "queued", "succeeded", "stopped"})


@dataclass(frozen=True, slots=True)
class WorkflowFilter:
    """Which workflows are wanted. A text occurs in id, name, description, tags or owner, in any case."""

    text: str = ""
    #: One of STATES.
    state: str | None = None
    owner: str | None = None
    tag: str | None = None
    #: Not those whose ids begin with it.
    without_prefix: str | None = None

    @property
    def looks_at_words(self) -> bool:
        """Whether what is said of a workflow has to be known."""
        return bool(self.text or self.owner or self.tag)

    def matches(self, said: Said) -> bool:
        """Whether the words of the filter fit what is said."""
        if self.owner and said.owner != self.owner.lower():
            return False
        if self.tag and self.tag.lower() not in said.tags:
            return False
        return said.mentions(self.text.lower())


def list_workflows(
    connection: Connection, text: str | None = None, cursor: str | None = None, limit: int = 50
) -> Json:
    """Workflows by id, after `cursor`; a text is looked for in id, name, description, tags and owner."""
    return find_workflows(connection, WorkflowFilter((text or "").strip()), cursor, limit)


def find_workflows(
    connection: Connection, wanted: WorkflowFilter, cursor: str | None = None, limit: int = 50
) -> Json:
    """Workflows by id, after `cursor`, that a filter lets through."""
    if not 1 <= limit <= PAGE_LIMIT:
        raise UsageError("PAGE_INVALID", f"found a limit of {limit}", f"ask for 1 to {PAGE_LIMIT}")
    if wanted.state is not None and wanted.state not in STATES:
        raise UsageError(
            "STATE_UNKNOWN", f"found the state '{wanted.state}'", f"use one of {', '.join(STATES)}"
        )
    found: list[str] = []
    for workflow_id in _scan(connection, wanted, cursor or "", limit + 1):
        found.append(workflow_id)
        if len(found) > limit:
            break
    page = _entries(connection, found[:limit])
    return {"workflows": page, "next_cursor": found[limit - 1] if len(found) > limit else None}


def _scan(connection: Connection, wanted: WorkflowFilter, cursor: str, enough: int) -> Iterator[str]:
    """The ids that are wanted, in their order, read a batch at a time."""
    batch = _BATCH if wanted.looks_at_words else enough
    while True:
        rows = connection.execute(_scan_query(wanted, cursor).limit(batch)).all()
        if wanted.looks_at_words:
            said = read_said(connection, rows)
            yield from (
                row.workflow_id for row, words in zip(rows, said, strict=True) if wanted.matches(words)
            )
        else:
            yield from (row.workflow_id for row in rows)
        if len(rows) < batch:
            return
        cursor = rows[-1].workflow_id


def _scan_query(wanted: WorkflowFilter, cursor: str) -> Select[Any]:
    query = select(*KEY_COLUMNS).where(workflows.c.workflow_id > cursor).order_by(workflows.c.workflow_id)
    if wanted.without_prefix:
        query = query.where(~workflows.c.workflow_id.startswith(wanted.without_prefix, autoescape=True))
    if wanted.state in _OF_LATEST_RUN:
        query = query.join(runs, _LATEST_RUN)
    return query if wanted.state is None else query.where(STATES[wanted.state])


def _entries(connection: Connection, workflow_ids: Sequence[str]) -> list[Json]:
    version = and_(
        workflow_versions.c.workflow_id == workflows.c.workflow_id,
        workflow_versions.c.version == SHOWN_VERSION,
    )
    query = (
        select(
            workflows,
            workflow_versions.c.definition,
            runs.c.run_id,
            runs.c.status,
            runs.c.created_at.label("run_created_at"),
            runs.c.started_at,
            runs.c.ended_at,
        )
        .select_from(workflows)
        .outerjoin(workflow_versions, version)
        .outerjoin(runs, _LATEST_RUN)
        .where(workflows.c.workflow_id.in_(workflow_ids))
        .order_by(workflows.c.workflow_id)
    )
    return [_entry(row) for row in connection.execute(query)]


def _entry(row: Row[Any]) -> Json:
    latest = None
    if row.status is not None:
        latest = {
            "workflow_instance_id": row.latest_instance_id,
            "workflow_run_id": row.run_id,
            "status": row.status,
            "create_time": row.run_created_at,
            "start_time": row.started_at,
            "end_time": row.ended_at,
        }
    return without_nones(
        {
            "workflow_id": row.workflow_id,
            **describe(load_map(row.definition), load_map(row.properties)),
            "active_version_id": row.active_version,
            "latest_version_id": row.latest_version,
            "latest_instance_id": row.latest_instance_id,
            "paused": row.paused,
            "latest_run": latest,
            "create_time": row.created_at,
            "modify_time": row.updated_at,
        }
    )
