"""`docs/reference/rest.md`: every path of the API, from its OpenAPI description."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from calve.engine.orchestrator import Orchestrator
from calve.server.app import create_app
from calve.settings import load_settings
from calve.ui.site import add_pages
from tools.reference.markdown import cell, code, page, table

_INTRODUCTION = (
    "Every path, as `/openapi.json` of a running server describes it with examples. Errors, tokens and "
    "events are explained in [REST](../rest.md)."
)
_METHODS = ("get", "post", "put", "delete", "patch")
#: What most people ask for comes first; what is not named here comes after it.
_FIRST = ("workflows", "actions", "instances", "steps", "logs", "tables", "backfills", "lineage", "signals")


def make() -> str:
    """The page."""
    return page("REST paths", _INTRODUCTION, _parts(describe_api()))


def describe_api() -> dict[str, Any]:
    """The OpenAPI document of a server that has nothing in its state."""
    with TemporaryDirectory() as home:
        orchestrator = Orchestrator(load_settings(Path(home)))
        try:
            return add_pages(create_app(orchestrator)).openapi()
        finally:
            orchestrator.database.close()


def _parts(api: dict[str, Any]) -> Iterator[str]:
    groups: dict[str, list[list[str]]] = defaultdict(list)
    bodies: dict[str, Any] = api.get("components", {}).get("schemas", {})
    for path, methods in api["paths"].items():
        for method in _METHODS:
            if method in methods:
                operation = methods[method]
                tag = (operation.get("tags") or ["other"])[0]
                groups[tag].append(_row(path, method, operation, bodies))
    for tag, rows in sorted(groups.items(), key=lambda group: _place(group[0])):
        yield f"## {tag.capitalize()}"
        yield table(["path", "", "query", "body"], rows)


def _place(tag: str) -> int:
    return _FIRST.index(tag) if tag in _FIRST else len(_FIRST)


def _row(path: str, method: str, operation: dict[str, Any], bodies: dict[str, Any]) -> list[str]:
    asked = [param for param in operation.get("parameters", ()) if param["in"] == "query"]
    query = ", ".join(code(param["name"]) for param in asked)
    says = operation.get("description") or operation.get("summary") or ""
    return [f"`{method.upper()} {path}`", cell(says), query, _body(operation, bodies)]


def _body(operation: dict[str, Any], bodies: dict[str, Any]) -> str:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    schema: dict[str, Any] = {}
    for described in content.values():
        schema = schema or described.get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    fields = bodies.get(name, {}).get("properties", {})
    return ", ".join(code(field) for field in fields) or ", ".join(code(kind) for kind in content)
