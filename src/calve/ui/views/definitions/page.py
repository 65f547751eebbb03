"""The definition of a workflow by version, and what changed between two."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from sqlalchemy import Connection, Row, select

from calve.engine.catalog.versions import load_definition, resolve_version
from calve.engine.views.pages import PageRequest, read_page
from calve.errors import UsageError
from calve.server.dependencies import Json, Orchestrating
from calve.state.orchestration import workflow_versions
from calve.ui.addresses import with_query
from calve.ui.commands import command
from calve.ui.pages import Pages
from calve.ui.views.definitions.diff import diff_lines, number_lines
from calve.ui.views.workflows.head import read_head
from calve.workflow.definition import WorkflowDefinition, to_yaml

pages = Pages()
_VERSIONS = 15

_Version = Annotated[str, Query(max_length=32, description="active, latest, default or a number.")]


@pages.page("/workflows/{workflow_id}/definition", "definition.html")
def definition(
    orchestrator: Orchestrating,
    workflow_id: str,
    version: _Version = "default",
    against: _Version = "",
    cursor: Annotated[str, Query(max_length=32)] = "",
) -> Json:
    """A version as YAML with its lines numbered, or against another version."""
    with orchestrator.database.read() as connection:
        head = read_head(connection, workflow_id)
        shown = resolve_version(connection, workflow_id, version or "default")
        compared = resolve_version(connection, workflow_id, against) if against else None
        numbers = [shown] if compared is None else sorted((shown, compared))
        texts = _texts([load_definition(connection, workflow_id, number) for number in numbers])
        versions = _versions(connection, workflow_id, cursor)
    here = f"{head['href']}/definition"
    return {
        "head": head,
        "shown": shown,
        "against": compared,
        "language": texts.pop(0),
        "lines": number_lines(texts[0]) if compared is None else [],
        "diff": None if compared is None else diff_lines(*texts),
        "compared": None if compared is None else numbers,
        "versions": [_version(here, one, shown, head) for one in versions["elements"]],
        "newer": _page_link(here, version, against, versions, "start_cursor", "has_previous_page"),
        "older": _page_link(here, version, against, versions, "end_cursor", "has_next_page"),
        "command": command("show", workflow_id, "--version", shown),
    }


def _texts(definitions: Sequence[WorkflowDefinition]) -> list[str]:
    """The language of the texts, then the texts: YAML, or JSON if one of them cannot be said in YAML."""
    try:
        return ["YAML", *(to_yaml(one) for one in definitions)]
    except UsageError:
        return ["JSON", *(json.dumps(one.to_json(), indent=2, ensure_ascii=False) for one in definitions)]


def _versions(connection: Connection, workflow_id: str, cursor: str) -> Json:
    query = select(
        workflow_versions.c.version, workflow_versions.c.author, workflow_versions.c.created_at
    ).where(workflow_versions.c.workflow_id == workflow_id)
    is_newer = cursor.startswith("-")
    size = {"last": _VERSIONS, "first": None} if is_newer else {"first": _VERSIONS, "last": None}
    request = PageRequest.parse(**size, cursor=cursor.removeprefix("-") or None)

    def show(rows: Sequence[Row[Any]]) -> list[Json]:
        return [{"version": row.version, "author": row.author, "create_time": row.created_at} for row in rows]

    return read_page(connection, query, workflow_versions.c.version, request, show)


def _version(here: str, one: Json, shown: int, head: Json) -> Json:
    return {
        **one,
        "is_shown": one["version"] == shown,
        "is_active": one["version"] == head["active_version"],
        "href": with_query(here, version=one["version"]),
        "compare": with_query(here, version=shown, against=one["version"]),
    }


def _page_link(here: str, version: str, against: str, found: Json, key: str, has: str) -> str | None:
    info = found["page_info"]
    if not info[has]:
        return None
    cursor = ("-" if key == "start_cursor" else "") + info[key]
    return with_query(here, version=version, against=against, cursor=cursor)
