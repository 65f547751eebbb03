"""The API in words, from its own description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import Request

from calve.server.dependencies import Json
from calve.ui.pages import Pages

pages = Pages()


@pages.page("/docs", "api.html")
def api(request: Request) -> Json:
    """All paths there are, by subject, with what each takes."""
    document = request.app.openapi()
    groups: dict[str, list[Json]] = {}
    for operation in _operations(document):
        groups.setdefault(operation["subject"], []).append(operation)
    return {
        "groups": [{"subject": name, "operations": found} for name, found in groups.items()],
        "description": document["info"].get("description", ""),
        "command": f"curl {request.base_url}openapi.json",
    }


def _operations(document: Mapping[str, Any]) -> Iterator[Json]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield {
                "subject": (operation.get("tags") or ["other"])[0],
                "method": method.upper(),
                "path": path,
                "text": operation.get("description") or operation.get("summary", ""),
                "parameters": [_parameter(one) for one in operation.get("parameters", ())],
                "body": _body(operation),
            }


def _parameter(given: Mapping[str, Any]) -> Json:
    return {
        "name": given["name"],
        "place": given["in"],
        "required": given.get("required", False),
        "text": given.get("description", ""),
    }


def _body(operation: Mapping[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    return ", ".join(content)
