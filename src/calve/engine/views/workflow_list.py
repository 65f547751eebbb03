"""Lists of workflows, and searches for a text in what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, or_, select

from calve.engine.views.documents import Json, load_map, version_workflow, without_nones
from calve.engine.views.pages import PAGE_LIMIT
from calve.errors import UsageError
from calve.state.orchestration import runs, workflow_versions, workflows

_BATCH = 200


def list_workflows(
    connection: Connection, text: str | None = None, cursor: str | None = None, limit: int = 50
) -> Json:
    """Workflows by id, after `cursor`; a text is looked for in id, name, description, tags and owner."""
    if not 1 <= limit <= PAGE_LIMIT:
        raise UsageError("PAGE_INVALID", f"found a limit of {limit}", f"ask for 1 to {PAGE_LIMIT}")
    wanted = (text or "").strip().lower()
    found: list[Json] = []
    for row in _scan(connection, wanted, cursor or ""):
        shown = _list_entry(row)
        if not wanted or _mentions(shown, wanted):
            found.append(shown)
        if len(found) > limit:
            break
    page = found[:limit]
    return {"workflows": page, "next_cursor": page[-1]["workflow_id"] if len(found) > limit else None}


def _scan(connection: Connection, wanted: str, cursor: str) -> Iterator[Row[Any]]:
    """Rows that may be wanted, in the order of their ids, read a batch at a time."""
    while True:
        query = _list_query().where(workflows.c.workflow_id > cursor).limit(_BATCH)
        if wanted.isascii() and wanted.replace(" ", "").isalnum():
            # A database compares the case of letters differently beyond ASCII, and JSON escapes some signs.
            query = query.where(
                or_(
                    *(
                        func.lower(column).contains(wanted, autoescape=True)
                        for column in (
                            workflows.c.workflow_id,
                            workflows.c.properties,
                            workflow_versions.c.definition,
                        )
                    )
                )
            )
        rows = connection.execute(query).all()
        yield from rows
        if len(rows) < _BATCH:
            return
        cursor = rows[-1].workflow_id


def _list_query() -> Select[Any]:
    default = func.coalesce(workflows.c.active_version, workflows.c.latest_version)
    latest_run = and_(
        runs.c.workflow_id == workflows.c.workflow_id,
        runs.c.instance_id == workflows.c.latest_instance_id,
        runs.c.latest,
    )
    version = and_(
        workflow_versions.c.workflow_id == workflows.c.workflow_id, workflow_versions.c.version == default
    )
    return (
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
        .outerjoin(runs, latest_run)
        .order_by(workflows.c.workflow_id)
    )


def _list_entry(row: Row[Any]) -> Json:
    properties = load_map(row.properties)
    definition = load_map(row.definition)
    workflow = version_workflow(definition) if definition else {}
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
            "name": workflow.get("name"),
            "description": workflow.get("description") or properties.get("description"),
            "owner": properties.get("owner"),
            "tags": _tag_names(workflow.get("tags", [])) + _tag_names(properties.get("tags", [])),
            "active_version_id": row.active_version,
            "latest_version_id": row.latest_version,
            "latest_instance_id": row.latest_instance_id,
            "paused": row.paused,
            "latest_run": latest,
            "create_time": row.created_at,
            "modify_time": row.updated_at,
        }
    )


def _tag_names(tags: Sequence[Any]) -> list[str]:
    return [tag if isinstance(tag, str) else tag["name"] for tag in tags]


def _mentions(entry: Json, wanted: str) -> bool:
    owner = entry.get("owner")
    texts = [entry["workflow_id"], entry.get("name"), entry.get("description"), *entry["tags"]]
    texts.append(owner.get("name") if isinstance(owner, dict) else owner)
    return any(wanted in text.lower() for text in texts if text)
