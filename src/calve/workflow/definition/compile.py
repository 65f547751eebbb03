"""From a tree in the model's form to the model, with all that is wrong on the way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from calve.workflow.definition.base import RuleError
from calve.workflow.definition.checks.expressions import check_expressions
from calve.workflow.definition.checks.graph import check_graph
from calve.workflow.definition.checks.params import check_params
from calve.workflow.definition.checks.references import check_references
from calve.workflow.definition.checks.structure import check_structure, check_types
from calve.workflow.definition.checks.triggers import check_triggers
from calve.workflow.definition.incremental import IncrementalTrigger
from calve.workflow.definition.job_types import JobTypes
from calve.workflow.definition.model import Workflow, WorkflowDefinition
from calve.workflow.definition.outline import StepOutline, outline, walk
from calve.workflow.definition.params import PARAMS_FAULT
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.retry import ExponentialBackoff, RetryPolicy
from calve.workflow.definition.signals import SignalTrigger, SignalTriggerEntry
from calve.workflow.definition.steps import KINDS, ForeachStep, SubworkflowStep, TypedStep, WhileStep
from calve.workflow.definition.tree import Node, Position

_OUT_OF_BOUNDS = frozenset({"greater_than_equal", "less_than_equal", "too_short", "string_too_short"})
_QUOTED = re.compile(r"'([^']+)'")
_STEPS = (TypedStep, SubworkflowStep, ForeachStep, WhileStep)
_FIELDS = frozenset(
    name
    for model in (
        *_STEPS,
        Properties,
        Workflow,
        RetryPolicy,
        ExponentialBackoff,
        SignalTrigger,
        SignalTriggerEntry,
        IncrementalTrigger,
    )
    for name in model.model_fields
)


def compile_tree(tree: Node, types: JobTypes, problems: Problems) -> WorkflowDefinition | None:
    """The definition of a tree; None, and errors, if there is anything wrong with it."""
    workflow = tree.get("workflow") or Node({}, tree.at)
    steps = outline(workflow.get("steps"))
    check_structure(steps, workflow, problems)
    check_types(steps, types, problems)
    check_graph(steps, problems)
    check_params(workflow, steps, problems)
    check_expressions(workflow, steps, problems)
    check_references(workflow, steps, problems)
    _spell_types(steps, types)
    try:
        made = WorkflowDefinition.model_validate(tree.plain())
    except ValidationError as error:
        params_are_reported = any(code.startswith("PARAM") for code in problems.codes())
        for details in error.errors():
            _report(details, tree, problems, params_are_reported)
        return None
    check_triggers(made.workflow, workflow, problems)
    if not problems.any:
        _check_jobs(made.workflow, steps, types, problems)
    return None if problems.any else made


def _check_jobs(
    workflow: Workflow, steps: tuple[StepOutline, ...], types: JobTypes, problems: Problems
) -> None:
    """What each type has to say about its jobs, at their places."""
    places = {step.id: step.at for step in walk(steps)}
    for job in workflow.all_steps():
        if not isinstance(job, TypedStep):
            continue
        for message, is_error in types.check(job, workflow):
            if is_error:
                problems.error(
                    "JOB_INVALID", message, places[job.id], remedy="Correct the job and push again."
                )
            else:
                problems.warn("JOB_ODD", message, places[job.id])


def _spell_types(steps: tuple[StepOutline, ...], types: JobTypes) -> None:
    """Write each type as its registry does, so that the spelling in a file makes no difference."""
    for step in walk(steps):
        written = step.node.get("type")
        found = None if written is None or written.text is None else types.find(written.text)
        if found is not None and written is not None and step.kind == "step":
            step.node.value["type"] = Node(found.name, written.at)


def _report(details: ErrorDetails, tree: Node, problems: Problems, params_are_reported: bool) -> None:
    kind = details["type"]
    place = _locate(tree, details["loc"])
    node, at, name = place.node, place.at, place.name
    fault = details.get("ctx", {}).get("error")
    if isinstance(fault, RuleError):
        # Which param is wrong, and where, the check of params has said already.
        if fault.code != PARAMS_FAULT or not params_are_reported:
            found = None if node is None else node.text or node.describe()
            problems.error(
                fault.code, fault.message, at, found=found, expected=fault.expected, among=fault.among
            )
    elif kind == "missing":
        problems.error("KEY_MISSING", f"'{name}' is missing", at, expected=f"the key '{name}'")
    elif kind == "extra_forbidden":
        problems.error(
            "KEY_UNKNOWN",
            f"'{name}' is not known here",
            place.key_at,
            found=name,
            expected="a known key",
            among=_FIELDS,
        )
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        _report_tag(details, node, at, problems)
    else:
        _report_value(details, node, at, name, problems)


def _report_tag(details: ErrorDetails, node: Node | None, at: Position, problems: Problems) -> None:
    is_step = "steps" in details["loc"][-2:]
    stated = None if node is None else node.get("type")
    found = "" if node is None else next(iter(node.value), "") if is_step and node.is_map else node.describe()
    if not is_step and stated is not None:
        found, at = str(stated.plain()), stated.at
    names = KINDS if is_step else tuple(_QUOTED.findall(str(details.get("ctx", {}).get("expected_tags", ""))))
    problems.error(
        "JOB_KIND_UNKNOWN" if is_step else "VALUE_UNKNOWN",
        f"'{found}' is not a kind of step" if is_step else f"'{found}' is not a type that is known here",
        at,
        found=found,
        expected="one of " + ", ".join(names) if names else "the key 'type'",
        among=names,
    )


def _report_value(
    details: ErrorDetails, node: Node | None, at: Position, name: str, problems: Problems
) -> None:
    kind = details["type"]
    found = None if node is None else node.text or node.describe()
    expected = str(details["msg"]).removeprefix("Input should be ").removeprefix("a valid ")
    choices: tuple[str, ...] = ()
    if kind in ("enum", "literal_error"):
        code, choices = "VALUE_UNKNOWN", tuple(_QUOTED.findall(expected))
    else:
        code = "OUT_OF_BOUNDS" if kind in _OUT_OF_BOUNDS else "TYPE_MISMATCH"
    problems.error(code, f"{name} is {found}", at, found=found, expected=expected, among=choices)


@dataclass(frozen=True, slots=True)
class _Place:
    """What an error is about: the node, unless it is missing, the place of its key, and its name."""

    node: Node | None
    at: Position
    key_at: Position
    name: str


def _locate(tree: Node, loc: tuple[int | str, ...]) -> _Place:
    node, key_at, name = tree, tree.at, "the definition"
    for index, part in enumerate(loc):
        child = _child(node, part)
        if isinstance(part, str):
            name = part
        if child is not None:
            key_at = node.keys.get(str(part), child.at)
            node = child
        elif index == len(loc) - 1 and node.is_map:
            return _Place(None, node.at, node.at, name)
    return _Place(node, node.at, key_at, name)


def _child(node: Node, part: Any) -> Node | None:
    if node.is_list and isinstance(part, int):
        items = node.items()
        return items[part] if part < len(items) else None
    return node.get(str(part))
