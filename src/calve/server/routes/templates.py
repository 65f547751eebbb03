"""Job templates, and all types that a job may have."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query

from calve.errors import UsageError
from calve.server.answers import log_event
from calve.server.bodies import TextBody, json_text, yaml_text
from calve.server.dependencies import Caller, Json, Orchestrating
from calve.steps.templates import JobTemplate
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.sources.yaml_source import read_yaml

router = APIRouter(tags=["job templates"])


@router.post("/job-templates", openapi_extra=json_text())
def put_template(orchestrator: Orchestrating, caller: Caller, text: TextBody) -> Json:
    """Keep a job template in its version, in the place of the one before."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("JSON_SYNTAX", f"the body is not JSON: {error}", "send a JSON object") from None
    return _put(orchestrator, caller, document)


@router.post("/job-templates/yaml", openapi_extra=yaml_text())
def put_template_yaml(orchestrator: Orchestrating, caller: Caller, text: TextBody) -> Json:
    """Keep a job template that is written in YAML."""
    problems = Problems()
    tree = read_yaml(text, "<body>", problems)
    problems.raise_if_any()
    return _put(orchestrator, caller, None if tree is None else tree.plain())


@router.get("/job-templates")
def list_templates(
    orchestrator: Orchestrating,
    version: Annotated[str, Query(description="Only of this version.")] = "default",
) -> list[Json]:
    """All job templates of a version."""
    found = orchestrator.list_templates()
    return [one for one in found if one["definition"].get("version", "default") == version]


@router.get("/job-templates/{job_type}")
def get_template(
    orchestrator: Orchestrating,
    job_type: str,
    version: Annotated[str, Query(description="The version of the template.")] = "default",
) -> Json:
    """A job template."""
    return orchestrator.get_template(job_type, version)


@router.delete("/job-templates/{job_type}")
def delete_template(
    orchestrator: Orchestrating,
    job_type: str,
    version: Annotated[str | None, Query(description="Only this version; all without it.")] = None,
) -> Json:
    """Delete a job template, in one version or in all."""
    orchestrator.delete_template(job_type, version)
    return log_event(f"deleted the job template '{job_type}'")


@router.get("/job-types")
def job_types(orchestrator: Orchestrating) -> Json:
    """All types that a job may have: step types, and job templates in each of their versions."""
    types = orchestrator.job_types()
    templates = [JobTemplate.from_json(document) for document in orchestrator.list_templates()]
    asked: list[tuple[str, str | None]] = [(one.job_type, one.version) for one in templates]
    named = {name.lower() for name, _ in asked}
    asked += [(name, None) for name in types.names() if name.lower() not in named]
    found = [(types.find(name, version), version) for name, version in asked]
    return {
        "job_types": [
            {
                "name": one.name,
                "version": version,
                "template_of": one.template_of,
                "section": one.section,
                "required": sorted(one.required),
            }
            for one, version in found
            if one is not None
        ]
    }


def _put(orchestrator: Orchestrating, caller: str, document: Any) -> Json:
    if not isinstance(document, dict):
        raise UsageError("TEMPLATE_INVALID", "the body is not an object", "send a job template")
    made = orchestrator.put_template(document, caller)
    return orchestrator.get_template(made.job_type, made.version)
