"""The description of the API for programs: what the routes say, and what they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI

from calve.server.dependencies import Json
from calve.server.examples import ANSWERS, ERROR, REQUESTS

PREFIX = "/api/v3"
#: What is said of a parameter whose route says nothing of it: its name means the same everywhere.
PARAMETERS: Mapping[str, str] = {
    "workflow_id": "The id of a workflow.",
    "workflowId": "The id of a workflow.",
    "version": "A version: `active`, `latest`, `default` or a number.",
    "workflowVersion": "Only in this version; any without it.",
    "instance_id": "The number of an instance.",
    "workflowInstanceId": "Only in this instance; any without it.",
    "run_id": "The number of a run; `latest` where a run is shown.",
    "workflowRun": "Only in the runs of this number; any without it.",
    "step_id": "The id of a step.",
    "stepId": "The id of a step.",
    "attempt": "The number of an attempt, or `latest`.",
    "attempt_id": "The number of an attempt.",
    "stepAttemptId": "Only in the attempts of this number; any without it.",
    "rank": "The numbers of the iterations around it, the outermost first, as in `3` or `3-1`.",
    "snapshot": "The number of a change, or `latest`.",
    "action": "What to do.",
    "table": "The name of a table; a short one belongs to the default catalog.",
    "tag": "The name of a tag.",
    "job_type": "The name of a job type.",
    "backfill_id": "The number of a backfill.",
    "seq": "The number of a signal within its name, or `latest`.",
    "cursor": "`next_cursor` of the list before.",
    "limit": "At most so many entries.",
    "enriched": "Makes no difference: an answer is always whole.",
    "content-type": "Whether the body is JSON or YAML.",
    "name": "The name of what is asked for.",
    "capture_id": "The id of a capture.",
    "workflow": "The id of a workflow.",
    "run": "The number of a run.",
    "search": "A text to look for.",
    "state": "Only in this state.",
    "status": "Only in this status, such as `FAILED`.",
    "owner": "Only of this owner.",
    "backfills": "Those of backfills too.",
    "older": "Only what is older than the entry of this number.",
    "newer": "Only what is newer than the entry of this number.",
    "tab": "Which part of the page.",
    "show": "Which part of the page.",
    "calve_zone": "The zone that times are told in.",
}
_ERROR_NAME = "Error"
_ERROR: Json = {
    "title": _ERROR_NAME,
    "type": "object",
    "required": ["status", "code", "message", "remedy"],
    "properties": {
        "status": {"type": "integer", "description": "The HTTP status."},
        "code": {"type": "string", "description": "What is wrong, for programs: codes are stable."},
        "message": {"type": "string", "description": "What is wrong, in words."},
        "remedy": {"type": "string", "description": "What to do."},
        "errors": {"type": "array", "items": {}, "description": "All that is wrong, if it is several."},
    },
}
#: FastAPI's own form of errors, which no route answers with.
_NOT_USED = ("HTTPValidationError", "ValidationError")
_NOT_ANSWERED = "422"


class DescribedApp(FastAPI):
    """An app whose description is complete."""

    _described: Json | None = None

    def openapi(self) -> Json:
        """The description, made once for the routes there are."""
        document = super().openapi()
        if document is not self._described:
            _complete(document)
            self._described = document
        return document


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Every operation of the API under the name that its examples have, as in `GET /workflows`."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path.removeprefix(PREFIX)}", operation


def _complete(document: Json) -> None:
    for name, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            if said := PARAMETERS.get(parameter["name"]):
                parameter.setdefault("description", said)
        _add_examples(name, operation)
        _add_errors(operation["responses"])
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for schema in _NOT_USED:
        schemas.pop(schema, None)
    schemas[_ERROR_NAME] = _ERROR


def _add_examples(name: str, operation: Json) -> None:
    if name in REQUESTS:
        content = operation["requestBody"]["content"]
        kind = "application/yaml" if isinstance(REQUESTS[name], str) else "application/json"
        content[kind]["example"] = REQUESTS[name]
    if name in ANSWERS:
        for media in operation["responses"]["200"].setdefault("content", {}).values():
            media["example"] = ANSWERS[name]


def _add_errors(responses: Json) -> None:
    responses.pop(_NOT_ANSWERED, None)
    reference = {"$ref": f"#/components/schemas/{_ERROR_NAME}"}
    content = {"application/json": {"schema": reference, "example": ERROR}}
    responses["4XX"] = {"description": "Refused, and why.", "content": content}
