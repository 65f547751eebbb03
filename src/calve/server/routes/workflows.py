"""Workflows: push, look at, change, delete."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query

from calve.engine.views import workflow_list
from calve.engine.views import workflows as views
from calve.engine.views.pages import PAGE_LIMIT
from calve.errors import UsageError
from calve.server.answers import action_event, log_event
from calve.server.bodies import PropertiesBody, TextBody, json_or_yaml_text, yaml_text
from calve.server.dependencies import Caller, Json, Orchestrating, Page, within
from calve.workflow.definition import Loaded, load_json, load_yaml
from calve.workflow.definition.tags import Tag

router = APIRouter(prefix="/workflows", tags=["workflows"])

ContentType = Annotated[str, Header(alias="content-type")]
_BODY = "<body>"


@router.get("")
def list_workflows(
    orchestrator: Orchestrating,
    search: Annotated[
        str | None, Query(description="A text in id, name, description, tags or owner.", max_length=256)
    ] = None,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the list before.")] = None,
    limit: Annotated[int, within(PAGE_LIMIT)] = 50,
) -> Json:
    """List workflows by id, or those in which a text occurs."""
    with orchestrator.database.read() as connection:
        return workflow_list.list_workflows(connection, search, cursor, limit)


@router.post("", openapi_extra=json_or_yaml_text())
def push(orchestrator: Orchestrating, caller: Caller, text: TextBody, content_type: ContentType = "") -> Json:
    """Push a definition in JSON, as the next version. YAML is taken too, if the content type says so."""
    load = load_yaml if "yaml" in content_type else load_json
    return _push(orchestrator, caller, load(text, file=_BODY, types=orchestrator.job_types()))


@router.post("/yaml", openapi_extra=yaml_text())
def push_yaml(orchestrator: Orchestrating, caller: Caller, text: TextBody) -> Json:
    """Push a definition in YAML."""
    return _push(orchestrator, caller, load_yaml(text, file=_BODY, types=orchestrator.job_types()))


@router.post("/batch")
def push_batch(orchestrator: Orchestrating, caller: Caller, definitions: list[dict[str, Any]]) -> Json:
    """Push several definitions in JSON, all or none."""
    types = orchestrator.job_types()
    loaded = [load_json(json.dumps(document), file=_BODY, types=types) for document in definitions]
    if not loaded:
        raise UsageError("PUSH_EMPTY", "there is no definition in the body", "send a list of definitions")
    pushed = orchestrator.push_all([item.definition for item in loaded], caller)
    return {"pushed": [{"workflow_id": one.workflow_id, "version": one.version} for one in pushed]}


@router.put("/actions/validate", openapi_extra=json_or_yaml_text())
def validate(orchestrator: Orchestrating, text: TextBody, content_type: ContentType = "") -> Json:
    """Check a definition in JSON without pushing it."""
    load = load_yaml if "yaml" in content_type else load_json
    return _validated(load(text, file=_BODY, types=orchestrator.job_types()))


@router.put("/actions/validate/yaml", openapi_extra=yaml_text())
def validate_yaml(orchestrator: Orchestrating, text: TextBody) -> Json:
    """Check a definition in YAML without pushing it."""
    return _validated(load_yaml(text, file=_BODY, types=orchestrator.job_types()))


@router.delete("/{workflow_id}")
def delete(orchestrator: Orchestrating, caller: Caller, workflow_id: str) -> Json:
    """Delete a workflow with all its versions and instances."""
    orchestrator.delete(workflow_id, caller)
    return action_event("DELETE", caller, f"deleted the workflow '{workflow_id}'")


@router.get("/{workflow_id}/overview")
def overview(orchestrator: Orchestrating, workflow_id: str) -> Json:
    """What is known of a workflow without its definition."""
    with orchestrator.database.read() as connection:
        return views.workflow_overview(connection, workflow_id)


@router.get("/{workflow_id}/timeline")
def timeline(orchestrator: Orchestrating, workflow_id: str) -> Json:
    """What people and triggers did to a workflow, the newest first."""
    with orchestrator.database.read() as connection:
        return views.workflow_timeline(connection, workflow_id)


@router.get("/{workflow_id}/triggers")
def triggers(orchestrator: Orchestrating, workflow_id: str) -> Json:
    """What starts a workflow by itself, and why it last did or did not."""
    return orchestrator.triggers(workflow_id)


@router.get("/{workflow_id}/versions/pagination")
def versions(orchestrator: Orchestrating, workflow_id: str, page: Page) -> Json:
    """Versions, the newest first."""
    with orchestrator.database.read() as connection:
        return views.workflow_versions_page(connection, workflow_id, page)


@router.get("/{workflow_id}/versions/{version}")
def version(orchestrator: Orchestrating, workflow_id: str, version: str, enriched: bool = False) -> Json:
    """A version with its definition and the properties."""
    with orchestrator.database.read() as connection:
        return views.workflow_version(connection, workflow_id, version)


@router.get("/{workflow_id}/properties-snapshot/{snapshot}")
def properties_snapshot(orchestrator: Orchestrating, workflow_id: str, snapshot: str) -> Json:
    """The properties as they are (`latest`), or as a change of that number made them."""
    with orchestrator.database.read() as connection:
        return views.properties_snapshot(connection, workflow_id, snapshot)


@router.post("/{workflow_id}/properties")
def set_properties(
    orchestrator: Orchestrating, caller: Caller, workflow_id: str, body: PropertiesBody
) -> Json:
    """Change properties; what is not stated stays."""
    orchestrator.set_properties(workflow_id, body.to_properties(), caller)
    return properties_snapshot(orchestrator, workflow_id, "latest")


@router.post("/{workflow_id}/properties/tag")
def add_tag(orchestrator: Orchestrating, caller: Caller, workflow_id: str, tag: Tag) -> Json:
    """Put a tag on a workflow."""
    orchestrator.add_tag(workflow_id, tag, caller)
    return properties_snapshot(orchestrator, workflow_id, "latest")


@router.delete("/{workflow_id}/properties/tag/{name}")
def remove_tag(
    orchestrator: Orchestrating,
    caller: Caller,
    workflow_id: str,
    name: Annotated[str, Path(description="The name of the tag.")],
) -> Json:
    """Take a tag off a workflow."""
    orchestrator.remove_tag(workflow_id, name, caller)
    return properties_snapshot(orchestrator, workflow_id, "latest")


def _push(orchestrator: Orchestrating, caller: str, loaded: Loaded) -> Json:
    pushed = orchestrator.push(loaded.definition, caller)
    with orchestrator.database.read() as connection:
        stored = views.workflow_version(connection, pushed.workflow_id, pushed.version)
    return {
        "workflow_definition": stored,
        "workflow_id": pushed.workflow_id,
        "version": pushed.version,
        "warnings": [warning.to_json() for warning in loaded.warnings],
    }


def _validated(loaded: Loaded) -> Json:
    return {
        **log_event(f"the definition of '{loaded.definition.workflow.id}' is valid"),
        "warnings": [warning.to_json() for warning in loaded.warnings],
    }
