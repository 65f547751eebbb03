"""What stands at the head of every page of a workflow."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from calve.engine.views.workflow_directory import owner_name, tag_names
from calve.engine.views.workflows import workflow_overview, workflow_version
from calve.server.dependencies import Json
from calve.ui.addresses import workflow_address
from calve.ui.formats import words


def read_head(connection: Connection, workflow_id: str) -> Json:
    """The head of a workflow; WORKFLOW_NOT_FOUND if there is none."""
    overview = workflow_overview(connection, workflow_id)
    return head_of(overview, workflow_version(connection, workflow_id, "default"))


def head_of(overview: Json, version: Json) -> Json:
    """The head from the overview of a workflow, and the version that starts use."""
    properties = version["properties_snapshot"]
    definition = version["workflow"]
    return {
        "workflow_id": overview["workflow_id"],
        "href": workflow_address(overview["workflow_id"]),
        "name": definition.get("name"),
        "description": definition.get("description") or properties.get("description"),
        "owner": owner_name(properties.get("owner")),
        "tags": tag_names([*definition.get("tags", []), *properties.get("tags", [])]),
        "paused": overview["paused"],
        "active_version": overview.get("active_version_id"),
        "latest_version": overview["latest_version_id"],
        "shown_version": version["metadata"]["workflow_version_id"],
        "version_time": version["metadata"]["create_time"],
        "version_author": owner_name(version["metadata"]["version_author"]),
        "unfinished": overview["nonterminal_instances"],
        "blocking": overview["failed_instances"],
        "run_strategy": _strategy(properties),
        "step_concurrency": overview["step_concurrency"],
    }


def _strategy(properties: Json) -> str:
    found: Any = properties.get("run_strategy") or {}
    rule = words(found.get("rule") or "SEQUENTIAL") if isinstance(found, dict) else words(str(found))
    limit = found.get("workflow_concurrency") if isinstance(found, dict) else None
    return f"{rule}, {limit} at a time" if limit and limit > 1 else rule
