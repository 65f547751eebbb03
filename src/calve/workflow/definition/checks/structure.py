"""Ids, numbers and nesting of steps."""

from __future__ import annotations

from collections.abc import Iterable

from calve.workflow.definition.job_types import JobTypes
from calve.workflow.definition.outline import StepOutline, walk
from calve.workflow.definition.params import SUBWORKFLOW_ID
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import Node, Position

STEP_LIMIT = 300
DEPTH_LIMIT = 10


def check_structure(steps: tuple[StepOutline, ...], workflow: Node, problems: Problems) -> None:
    """Step ids are unique over all levels; there are not too many steps, nor too deep."""
    places: dict[str, Position] = {}
    every = list(walk(steps))
    for step in every:
        if step.id is None:
            continue
        if step.id in places:
            problems.error(
                "ID_DUPLICATE",
                f"the id '{step.id}' is used here and at {_place(places[step.id])}",
                step.at,
                found=step.id,
                expected="an id that no other job has, inside loops too",
                remedy="Rename one of the two.",
            )
        places.setdefault(step.id, step.at)
    if len(every) > STEP_LIMIT:
        problems.error(
            "STEP_LIMIT",
            f"the workflow has {len(every)} jobs",
            workflow.at,
            found=str(len(every)),
            expected=f"at most {STEP_LIMIT}, those inside loops included",
            remedy="Use a foreach, or split it into subworkflows.",
        )
    _check_depth(steps, 1, problems)


def check_types(steps: tuple[StepOutline, ...], types: JobTypes, problems: Problems) -> None:
    """Every type is known, and the params that a job template requires are given."""
    for step in walk(steps):
        if step.kind == "subworkflow":
            _check_required("subworkflow", {SUBWORKFLOW_ID}, step, problems)
        if step.kind != "step":
            continue
        for key in ("type", "sub_type"):
            written, version = step.node.get(key), step.node.get("sub_type_version")
            if written is None or written.text is None:
                continue
            found = types.find(written.text, None if version is None else version.text)
            if found is None:
                names = list(types.names())
                problems.error(
                    "STEP_TYPE_UNKNOWN",
                    f"'{written.text}' is not a type of job",
                    written.at,
                    found=written.text,
                    expected="one of " + ", ".join(names),
                    among=names,
                )
                continue
            # A template may give what its step type requires; what it leaves open, it requires itself.
            if key == "sub_type" or step.node.get("sub_type") is None:
                _check_required(found.name, found.required, step, problems, found.section)


def _check_required(
    type_: str, required: Iterable[str], step: StepOutline, problems: Problems, section: str | None = None
) -> None:
    given = {param.name for param in step.params()}
    if section in given:
        given |= _members(step, section)
    for name in sorted(set(required) - given):
        problems.error(
            "PARAM_REQUIRED",
            f"a job of type '{type_}' needs the param '{name}'",
            step.at,
            expected=f"the param '{name}'",
        )


def _members(step: StepOutline, section: str) -> set[str]:
    """The keys of a map param, whichever of the two kinds of maps it is."""
    for param in step.params():
        value = param.node.get("value")
        if param.name == section and value is not None and value.is_map:
            return set(value.value)
    return set()


def _check_depth(steps: tuple[StepOutline, ...], depth: int, problems: Problems) -> None:
    if steps and depth > DEPTH_LIMIT:
        problems.error(
            "DEPTH_LIMIT",
            f"'{steps[0].id}' is {depth} levels deep",
            steps[0].at,
            found=str(depth),
            expected=f"at most {DEPTH_LIMIT} levels of loops",
        )
        return
    for step in steps:
        _check_depth(step.steps, depth + 1, problems)


def _place(at: Position) -> str:
    return f"line {at.line}" if at.line else str(at)
