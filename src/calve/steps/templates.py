"""Job templates: a step type under a name of its own, with params filled in.

In Maestro's form, as JSON or YAML, with or without the envelope around `definition`:

    {"definition": {"job_type", "step_type", "version"?, "description"?, "inherit_from"?, "tags"?, "params"?}}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calve.errors import UsageError
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.sources.yaml_source import read_yaml
from calve.workflow.params import (
    MergeContext,
    ParamDefinition,
    ParamSource,
    merge_params,
    params_from_json,
    params_to_json,
)

DEFAULT_VERSION = "default"
_CONTEXT = MergeContext(ParamSource.TEMPLATE_SCHEMA)

Lookup = Callable[[str, str | None], "JobTemplate | None"]


@dataclass(frozen=True, kw_only=True)
class JobTemplate:
    """A job template in one of its versions."""

    job_type: str
    #: None only if it is inherited.
    step_type: str | None = None
    version: str = DEFAULT_VERSION
    description: str = ""
    params: Mapping[str, ParamDefinition] = field(default_factory=dict)
    #: Name to version, None for the default one: the templates whose params lie under these, in order.
    inherit_from: Mapping[str, str | None] = field(default_factory=dict)
    tags: tuple[Any, ...] = ()

    @classmethod
    def from_json(cls, document: object) -> JobTemplate:
        """The template that a document of Maestro's form describes."""
        if isinstance(document, Mapping) and isinstance(document.get("definition"), Mapping):
            document = document["definition"]
        if not isinstance(document, Mapping):
            raise _invalid(f"a job template is a {type(document).__name__}, not an object")
        step_type = _text(document, "step_type")
        inherit_from = _parents(document.get("inherit_from"))
        if step_type is None and not inherit_from:
            raise _invalid("a job template has neither 'step_type' nor 'inherit_from'")
        tags = document.get("tags") or []
        return cls(
            job_type=_required(document, "job_type"),
            step_type=step_type,
            version=_text(document, "version") or DEFAULT_VERSION,
            description=_text(document, "description") or "",
            params=params_from_json(document.get("params") or {}),
            inherit_from=inherit_from,
            tags=tuple(tags) if isinstance(tags, list) else (tags,),
        )

    def to_json(self) -> dict[str, Any]:
        """The template as `from_json` reads it, without an envelope."""
        stated: dict[str, Any] = {
            "job_type": self.job_type,
            "step_type": self.step_type,
            "version": self.version,
            "description": self.description or None,
            "inherit_from": dict(self.inherit_from) or None,
            "tags": list(self.tags) or None,
            "params": params_to_json(self.params),
        }
        return {key: value for key, value in stated.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ResolvedTemplate:
    """What a template comes down to, with everything that it inherits."""

    step_type: str
    params: Mapping[str, ParamDefinition]


def read_template(text: str, file: str = "<text>") -> JobTemplate:
    """The template in a YAML or JSON text."""
    problems = Problems()
    tree = read_yaml(text, file, problems)
    problems.raise_if_any()
    return JobTemplate.from_json(None if tree is None else tree.plain())


def resolve(template: JobTemplate, lookup: Lookup) -> ResolvedTemplate:
    """A template with all that it inherits; one that inherits from itself is refused."""
    return _resolve(template, lookup, ())


def _resolve(template: JobTemplate, lookup: Lookup, path: tuple[str, ...]) -> ResolvedTemplate:
    key = f"{template.job_type.lower()} {template.version}"
    if key in path:
        chain = " -> ".join((*path[path.index(key) :], key))
        raise UsageError(
            "TEMPLATE_CYCLE",
            f"the job template '{template.job_type}' inherits from itself: {chain}",
            "take one of them out of 'inherit_from'",
        )
    params: dict[str, ParamDefinition] = {}
    step_type = template.step_type
    for name, version in template.inherit_from.items():
        parent = _resolve(_parent(template, name, version, lookup), lookup, (*path, key))
        params = merge_params(params, parent.params, _CONTEXT)
        step_type = step_type or parent.step_type
    if step_type is None:
        raise _invalid(f"the job template '{template.job_type}' has no 'step_type', and inherits none")
    return ResolvedTemplate(step_type, merge_params(params, template.params, _CONTEXT))


def _parent(template: JobTemplate, name: str, version: str | None, lookup: Lookup) -> JobTemplate:
    found = lookup(name, version)
    if found is None:
        raise UsageError(
            "TEMPLATE_UNKNOWN",
            f"the job template '{template.job_type}' inherits from '{name}'"
            + (f" version '{version}'" if version else "")
            + ", which is not there",
            f"create '{name}' first, or correct 'inherit_from'",
        )
    return found


def _parents(written: object) -> dict[str, str | None]:
    """One name, a list of names, or a map of names to versions."""
    if written is None:
        return {}
    if isinstance(written, str):
        return {written: None}
    if isinstance(written, list) and all(isinstance(name, str) for name in written):
        return dict.fromkeys(written)
    if isinstance(written, Mapping):
        return {str(name): None if version is None else str(version) for name, version in written.items()}
    raise _invalid("'inherit_from' is neither a name, a list of names, nor a map of names to versions")


def _required(document: Mapping[str, Any], key: str) -> str:
    found = _text(document, key)
    if not found:
        raise _invalid(f"a job template has no '{key}'")
    return found


def _text(document: Mapping[str, Any], key: str) -> str | None:
    found = document.get(key)
    if found is None or isinstance(found, str):
        return found
    raise _invalid(f"'{key}' of a job template is a {type(found).__name__}, not a text")


def _invalid(message: str) -> UsageError:
    return UsageError(
        "TEMPLATE_INVALID",
        message,
        'write {"job_type": name, "step_type": type, "params": {name: {"value": …, "type": …}}}',
    )
