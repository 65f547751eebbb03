"""SEL, wherever it may stand: it must parse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from calve.workflow.definition.dsl.dag import otherwise
from calve.workflow.definition.outline import ParamOutline, StepOutline, params_in, walk
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.signals import VALID_THROUGH
from calve.workflow.definition.tree import Node, Position
from calve.workflow.sel import SelError, referenced_names


def check_expressions(workflow: Node, steps: tuple[StepOutline, ...], problems: Problems) -> None:
    """Check every condition and every expression of a param."""
    for node in _all(workflow, steps):
        names_in(node, problems)


def names_in(expression: Node, problems: Problems | None = None) -> frozenset[str]:
    """The names that an expression refers to; none, and an error if wanted, if it is no SEL."""
    text = expression.text
    if text is None or not text.strip():
        return frozenset()
    try:
        return referenced_names(text)
    except SelError as error:
        if problems is not None:
            problems.error(
                error.code,
                f"'{_short(text)}' is not SEL: {error.message}",
                _place(expression, error),
                found=_short(text),
                expected="a SEL expression",
                remedy=error.remedy,
            )
        return frozenset()


def _place(expression: Node, error: SelError) -> Position:
    on_first_line = error.line == 1 and error.column is not None
    return expression.inside((error.column or 1) - 1) if on_first_line else expression.at


def _all(workflow: Node, steps: tuple[StepOutline, ...]) -> Iterator[Node]:
    yield from _of_params(params_in(workflow.get("params") or Node({}, workflow.at)))
    for trigger in (workflow.get("signal_triggers") or Node([], workflow.at)).items():
        yield from _of_params(params_in(trigger.get("params") or Node({}, trigger.at)))
        yield from _present(trigger.get("condition"), trigger.get("dedup_expr"))
    for step in walk(steps):
        yield from _of_params(step.params())
        yield from _present(step.node.get("condition"))
        yield from _of_edges(step)
        yield from _of_signals(step.node)


def _of_params(params: Iterable[ParamOutline]) -> Iterator[Node]:
    for param in params:
        yield from _present(param.expression)
        yield from _of_params(param.members())


def _of_edges(step: StepOutline) -> Iterator[Node]:
    stated: list[str] = []
    for edge in step.edges():
        condition = edge.condition.text
        # The condition that OTHERWISE stands for is made of others that are looked at themselves.
        if condition is not None and condition != otherwise(stated):
            stated.append(condition)
            yield edge.condition


def _of_signals(body: Node) -> Iterator[Node]:
    for output in (body.get("signal_outputs") or Node([], body.at)).items():
        for key in ("params", "payload"):
            yield from _of_params(params_in(output.get(key) or Node({}, output.at)))
    for dependency in (body.get("signal_dependencies") or Node([], body.at)).items():
        for _, _, match in (dependency.get("match_params") or Node({}, dependency.at)).entries():
            yield from _present(match.get("param", "expression"))
        yield from _present(dependency.get(VALID_THROUGH, "expression"))


def _present(*nodes: Node | None) -> Iterator[Node]:
    return (node for node in nodes if node is not None)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
