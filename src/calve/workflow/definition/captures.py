"""Which tables the capture steps of a workflow take their changes from, as far as the definition says it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calve.errors import CalveError
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import TypedStep
from calve.workflow.params import Evaluation, ParamDefinition

#: The types of capture steps, in small letters.
CAPTURE_TYPES = frozenset({"ipcapture", "icdc"})
SECTION = "ip_capture"
#: What a capture step may call its tables.
SOURCE_NAMES = ("source_tables", "sourceTable")
_DEFAULT_OPERATIONS = ("append",)


@dataclass(frozen=True, slots=True)
class CaptureSource:
    """A table that a capture step takes changes from. `consumer` None: the one that the step stands for."""

    step_id: str
    table: str
    branch: str | None
    consumer: str | None
    operations: tuple[str, ...]


def capture_steps(workflow: Workflow) -> list[TypedStep]:
    """The capture steps, those inside loops too."""
    return [
        step
        for step in workflow.all_steps()
        if isinstance(step, TypedStep) and step.type.lower() in CAPTURE_TYPES
    ]


def capture_sources(workflow: Workflow) -> list[CaptureSource]:
    """The tables of all capture steps; a step whose tables are not known before it runs is left out."""
    found: list[CaptureSource] = []
    for step in capture_steps(workflow):
        try:
            found += step_sources(workflow, step)
        except (CalveError, ValueError):
            continue
    return found


def step_sources(workflow: Workflow, step: TypedStep) -> Iterator[CaptureSource]:
    """The tables of one capture step. Raises what is wrong where they do not follow from the definition."""
    given = _Given(workflow, step)
    tables = next((found for name in SOURCE_NAMES if (found := given.get(name)) is not None), ())
    consumer = given.get("consumer")
    operations = given.get("data_operations") or _DEFAULT_OPERATIONS
    for table, branch in map(_table_and_branch, _listed(tables)):
        yield CaptureSource(
            step.id,
            table,
            branch,
            None if consumer is None else str(consumer),
            tuple(str(name).lower() for name in _listed(operations)),
        )


class _Given:
    """The params of a capture step, each evaluated only if it is asked for."""

    def __init__(self, workflow: Workflow, step: TypedStep) -> None:
        section = step.params.get(SECTION)
        own: Mapping[str, ParamDefinition] = {} if section is None else section.members
        #: A section in which all values are texts has no definitions inside.
        self._plain = section.value if section is not None and not own and section.is_literal else {}
        self._known = {*step.params, *own}
        self._evaluation = Evaluation({**workflow.params, **step.params, **own})

    def get(self, name: str) -> Any:
        """The value of a param; None if it is not given."""
        if name in self._plain:
            return self._evaluation.text(self._plain[name])
        return self._evaluation.evaluate(name).value if name in self._known else None


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _table_and_branch(value: Any) -> tuple[str, str | None]:
    """A source is a name, a map, or the text of a map."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = json.loads(value)
    if isinstance(value, Mapping):
        branch = value.get("branch")
        return str(value.get("table", "")), None if branch is None else str(branch)
    return str(value), None


def find_fault(workflow: Workflow) -> str | None:
    """Why the tables of a trigger cannot follow from the capture steps; None if they do."""
    steps = capture_steps(workflow)
    if not steps:
        return "the trigger names no table, and the workflow has no capture step"
    try:
        sources = [source for step in steps for source in step_sources(workflow, step)]
    except (CalveError, ValueError) as error:
        return f"the trigger names no table, and those of the capture steps are not known beforehand: {error}"
    if not sources or not all(source.table for source in sources):
        return "the trigger names no table, and the capture steps name none either"
    return None
