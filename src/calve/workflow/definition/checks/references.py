"""Which params refer to which: none to itself, and a name that nobody defines is pointed out."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from calve.workflow.definition.checks.expressions import names_in
from calve.workflow.definition.outline import ParamOutline, StepOutline, params_in
from calve.workflow.definition.params import LOOP_PARAMS
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import Node
from calve.workflow.params import interpolation
from calve.workflow.params.defaults import FOREACH_DEFAULTS, STEP_DEFAULTS, WORKFLOW_DEFAULTS
from calve.workflow.params.references import is_reference

WORKFLOW_NAMES = frozenset(WORKFLOW_DEFAULTS)
STEP_NAMES = frozenset(STEP_DEFAULTS)
LOOP_NAMES = frozenset(FOREACH_DEFAULTS)


def check_references(workflow: Node, steps: tuple[StepOutline, ...], problems: Problems) -> None:
    """Check the params of the workflow, then those of the steps, each in its scope."""
    params = params_in(workflow.get("params") or Node({}, workflow.at))
    _check_circles(params, frozenset(), problems)
    scope = WORKFLOW_NAMES | {param.name for param in params}
    _warn_of_undefined(params, scope, problems)
    _check_steps(steps, scope, problems)


def _check_steps(steps: tuple[StepOutline, ...], scope: frozenset[str], problems: Problems) -> None:
    for step in steps:
        params = step.params()
        # A name of the scope around it means that one, so a param may build on the one that it hides.
        _check_circles(params, scope, problems)
        own = {param.name for param in params}
        inner = scope | STEP_NAMES | own
        _warn_of_undefined(params, inner, problems)
        loop = {param.name for param in step.loop_params()}
        _check_steps(step.steps, scope | LOOP_NAMES | own | loop, problems)


def _check_circles(params: list[ParamOutline], around: frozenset[str], problems: Problems) -> None:
    by_name = {param.name: param for param in params}
    graph = {
        name: {other for other in references(param) if other in by_name and other not in around}
        for name, param in by_name.items()
    }
    for name in [name for name, others in graph.items() if name in others]:
        problems.error(
            "PARAM_SELF_REFERENCE",
            f"the param '{name}' refers to itself",
            by_name[name].at,
            found=name,
            expected="a value, or the name of another param",
        )
        graph[name].discard(name)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = list(reversed(error.args[1]))
        problems.error(
            "PARAM_SELF_REFERENCE",
            "the params refer to each other: " + " -> ".join(cycle),
            by_name[cycle[0]].at,
            found=" -> ".join(cycle),
            expected="no way back to a param",
        )


def references(param: ParamOutline) -> frozenset[str]:
    """The names that a param refers to, those in its members included, but for the members' own."""
    found = set(_direct(param))
    for member in [] if param.name == LOOP_PARAMS else param.members():
        found |= references(member)
    return frozenset(found)


def _direct(param: ParamOutline) -> Iterator[str]:
    if param.expression is not None:
        yield from names_in(param.expression)
    elif not param.members():
        yield from _in_texts(param.node.get("value"))


def _in_texts(value: Node | None) -> Iterator[str]:
    if value is None:
        return
    if value.text is not None:
        yield from sorted(interpolation.names_in(value.text))
    for key, _, item in value.entries():
        yield from sorted(interpolation.names_in(key))
        yield from _in_texts(item)
    for item in value.items():
        yield from _in_texts(item)


def _warn_of_undefined(
    params: list[ParamOutline], scope: frozenset[str] | set[str], problems: Problems
) -> None:
    for param in params:
        _warn_of_undefined(param.members(), scope | {member.name for member in param.members()}, problems)
        if param.expression is not None or param.members():
            continue
        for name in dict.fromkeys(_in_texts(param.node.get("value"))):
            if name not in scope and not is_reference(name):
                value = param.node.get("value") or param.node
                problems.warn(
                    "PARAM_UNDEFINED",
                    f"'{param.name}' uses ${{{name}}}, which is not defined here: "
                    "a start or a parent workflow has to supply it",
                    value.at,
                )
