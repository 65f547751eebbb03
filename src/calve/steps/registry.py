"""Which step types there are: those of Calve, and those of installed packages (entry points `calve.steps`).

A type is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from calve.errors import FailedError, UsageError
from calve.importing import one_at_a_time
from calve.steps.contract import Advice, StepType
from calve.steps.schema import required_by, required_names
from calve.steps.templates import JobTemplate, resolve
from calve.workflow.definition.job_types import DEFAULT_TYPES, JobType
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import TypedStep

GROUP = "calve.steps"

BUILT_IN: Mapping[str, str] = {
    "NoOp": "calve.steps.noop:NoOp",
    "Sleep": "calve.steps.sleep:Sleep",
    "Shell": "calve.steps.shell:Shell",
    "Python": "calve.steps.python:Python",
    "Http": "calve.steps.http:Http",
    "Sql": "calve.steps.sql:Sql",
    "Spark": "calve.steps.spark:Spark",
    "IpCapture": "calve.steps.incremental.capture:IpCapture",
    "ICDC": "calve.steps.incremental.capture:Icdc",
    "IpCommit": "calve.steps.incremental.commit:IpCommit",
    "IncrementalAppend": "calve.steps.patterns.append:IncrementalAppend",
    "IncrementalMerge": "calve.steps.patterns.merge:IncrementalMerge",
    "IncrementalAggregate": "calve.steps.patterns.aggregate:IncrementalAggregate",
    "IncrementalRange": "calve.steps.patterns.range:IncrementalRange",
    "WriteAuditPublish": "calve.steps.patterns.publish:WriteAuditPublish",
    "BackfillStage": "calve.backfill.step:BackfillStage",
}

_MEMBERS = ("name", "inline", "schema", "options", "start", "poll", "cancel")

#: Finds a job template by name and, if one is given, version.
TemplateLookup = Callable[[str, str | None], JobTemplate | None]


def find(name: str) -> StepType | None:
    """The step type of that name, in any case of letters; None if there is none.

    A package that offers it and does not load is a `FailedError` that names the package.
    """
    return _find(name.lower())


def names() -> list[str]:
    """The names of all step types; none of them is imported for it."""
    own = {name.lower(): name for name in BUILT_IN}
    return sorted({**{key: point.name for key, point in _installed().items()}, **own}.values())


def reload() -> None:
    """Forget what was found, so that packages installed since are seen."""
    _find.cache_clear()
    _installed.cache_clear()


class RegisteredTypes:
    """The types that a definition may name: all step types, and the job templates that `templates` finds."""

    def __init__(
        self, templates: TemplateLookup = lambda name, version: None, template_names: Iterable[str] = ()
    ) -> None:
        self._templates = templates
        self._template_names = tuple(template_names)

    def find(self, name: str, version: str | None = None) -> JobType | None:
        """The step type, or else the template, of that name.

        A type of the language that is not installed here is accepted, and refused when it is started.
        """
        found = find(name)
        if found is not None:
            return JobType(found.name, required=required_by(found), section=found.options.section)
        template = self._templates(name, version)
        return DEFAULT_TYPES.find(name) if template is None else self._job_type(template)

    def names(self) -> Iterable[str]:
        """The names of all types and templates."""
        return dict.fromkeys((*names(), *DEFAULT_TYPES.names(), *self._template_names))

    def check(self, step: TypedStep, workflow: Workflow) -> Iterable[tuple[str, bool]]:
        """What the type of a job finds wrong with it; what a template gives is not known to it."""
        type_ = None if step.sub_type is not None else find(step.type)
        look = getattr(type_, "check", None)
        found: Iterable[str] = () if look is None else look(step, workflow)
        return [(message, not isinstance(message, Advice)) for message in found]

    def _job_type(self, template: JobTemplate) -> JobType:
        resolved = resolve(template, self._templates)
        found = find(resolved.step_type)
        if found is None:
            raise UsageError(
                "TEMPLATE_TYPE_UNKNOWN",
                f"the job template '{template.job_type}' is made from '{resolved.step_type}', "
                "which is not a step type",
                "use one of " + ", ".join(names()),
            )
        given = {name for name, param in resolved.params.items() if param.is_defined}
        missing = (required_by(found) | required_names(resolved.params)) - given
        return JobType(
            template.job_type, template_of=found.name, required=missing, section=found.options.section
        )


@cache
def _find(key: str) -> StepType | None:
    for name, target in BUILT_IN.items():
        if name.lower() == key:
            module, _, attribute = target.partition(":")
            with one_at_a_time():
                built_in: type[StepType] = getattr(importlib.import_module(module), attribute)
            return built_in()
    point = _installed().get(key)
    return None if point is None else _load(point)


@cache
def _installed() -> dict[str, EntryPoint]:
    return {point.name.lower(): point for point in entry_points(group=GROUP)}


def _load(point: EntryPoint) -> StepType:
    try:
        found: type[StepType] = point.load()
        type_ = found()
    except Exception as error:
        raise _broken(point, f"does not load: {type(error).__name__}: {error}") from error
    missing = [member for member in _MEMBERS if not hasattr(type_, member)]
    if missing:
        raise _broken(point, f"has no {', '.join(missing)}")
    return type_


def _broken(point: EntryPoint, reason: str) -> FailedError:
    package = point.dist.name if point.dist is not None else point.module
    return FailedError(
        "STEP_TYPE_BROKEN",
        f"the step type '{point.name}' of the package {package} ({point.value}) {reason}",
        f"update or remove the package {package}",
    )
