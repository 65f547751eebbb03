"""Job templates in the state, and all types that a definition may name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from calve.engine.outbox import dump
from calve.errors import NotFoundError, UsageError
from calve.state.dialect import lock_name
from calve.state.orchestration import job_templates
from calve.steps import registry
from calve.steps.registry import RegisteredTypes
from calve.steps.templates import DEFAULT_VERSION, JobTemplate, resolve
from calve.workflow.definition.job_types import JobTypes

SIZE_LIMIT = 256_000
NAME_LIMIT = 128


def put_template(
    connection: Connection, document: Mapping[str, Any], author: str, now_ms: int
) -> JobTemplate:
    """Keep a template in its version, in the place of the one before; what does not resolve is refused."""
    template = JobTemplate.from_json(document)
    text = dump(dict(document))
    _check(template, text)
    key = template.job_type.lower()
    lock_name(connection, "template", key)
    # By the name in lower case, so that no two names differ in the case of their letters alone.
    where = (func.lower(job_templates.c.job_type) == key, job_templates.c.version == template.version)
    values = {"job_type": template.job_type, "definition": text, "author": author, "created_at": now_ms}
    if not connection.execute(update(job_templates).where(*where).values(values)).rowcount:
        connection.execute(insert(job_templates).values(version=template.version, **values))
    resolved = resolve(template, lambda name, version: find_template(connection, name, version))
    if registry.find(resolved.step_type) is None:
        raise UsageError(
            "TEMPLATE_TYPE_UNKNOWN",
            f"the job template '{template.job_type}' is made from '{resolved.step_type}', "
            "which is not a step type",
            "use one of " + ", ".join(registry.names()),
        )
    return template


def find_template(connection: Connection, job_type: str, version: str | None = None) -> JobTemplate | None:
    """A template by its name, in any case of letters, in a version; None if there is none."""
    document = _find(connection, job_type, version)
    return None if document is None else JobTemplate.from_json(document)


def get_template(connection: Connection, job_type: str, version: str | None = None) -> dict[str, Any]:
    """The document of a template as it was given; TEMPLATE_NOT_FOUND if there is none."""
    found = _find(connection, job_type, version)
    if found is None:
        raise _not_found(job_type, version)
    return found


def list_templates(connection: Connection) -> list[dict[str, Any]]:
    """The documents of all templates, by name and version."""
    query = select(job_templates.c.definition).order_by(job_templates.c.job_type, job_templates.c.version)
    return [json.loads(text) for text in connection.execute(query).scalars()]


def delete_template(connection: Connection, job_type: str, version: str | None = None) -> None:
    """Delete a template in one version, or in all; workflows that name it do not start any more."""
    query = delete(job_templates).where(func.lower(job_templates.c.job_type) == job_type.lower())
    if version is not None:
        query = query.where(job_templates.c.version == version)
    if not connection.execute(query).rowcount:
        raise _not_found(job_type, version)


def job_types(connection: Connection) -> JobTypes:
    """All step types and, as they are now, all templates: usable after the transaction has ended."""
    found: dict[tuple[str, str], JobTemplate] = {}
    for document in list_templates(connection):
        template = JobTemplate.from_json(document)
        found[template.job_type.lower(), template.version] = template

    def lookup(name: str, version: str | None) -> JobTemplate | None:
        return found.get((name.lower(), version or DEFAULT_VERSION))

    names = sorted({template.job_type for template in found.values()})
    return RegisteredTypes(lookup, names)


def _find(connection: Connection, job_type: str, version: str | None) -> dict[str, Any] | None:
    text = connection.execute(
        select(job_templates.c.definition).where(
            func.lower(job_templates.c.job_type) == job_type.lower(),
            job_templates.c.version == (version or DEFAULT_VERSION),
        )
    ).scalar()
    found: dict[str, Any] | None = None if text is None else json.loads(text)
    return found


def _check(template: JobTemplate, text: str) -> None:
    for what, name in (("name", template.job_type), ("version", template.version)):
        if len(name) > NAME_LIMIT or not name.isascii() or not name.isprintable() or not name.strip():
            raise UsageError(
                "TEMPLATE_INVALID",
                f"found the {what} {name[:40]!r} of a job template",
                f"give 1 to {NAME_LIMIT} ASCII characters",
            )
    if len(text) > SIZE_LIMIT:
        raise UsageError(
            "TEMPLATE_INVALID",
            f"the job template '{template.job_type}' has {len(text)} characters",
            f"give at most {SIZE_LIMIT}",
        )
    if template.job_type.lower() in (name.lower() for name in registry.names()):
        raise UsageError(
            "TEMPLATE_INVALID",
            f"'{template.job_type}' is a step type",
            "give the job template a name of its own",
        )


def _not_found(job_type: str, version: str | None) -> NotFoundError:
    return NotFoundError(
        "TEMPLATE_NOT_FOUND",
        f"there is no job template '{job_type}' in version '{version or DEFAULT_VERSION}'",
        "list the job templates to see names and versions",
    )
