"""What can be seen of the steps before the model accepts them, so that every check can still run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from calve.workflow.definition.params import LOOP_PARAMS
from calve.workflow.definition.steps import KINDS
from calve.workflow.definition.tree import Node, Position


@dataclass(frozen=True, slots=True)
class ParamOutline:
    """A param as it is written: `{value | expression, type, …}`."""

    name: str
    at: Position
    node: Node

    @property
    def expression(self) -> Node | None:
        """The SEL expression, if it is one."""
        found = self.node.get("expression")
        return found if found is not None and found.text is not None else None

    def members(self) -> list[ParamOutline]:
        """The params inside a MAP."""
        type_, value = self.node.get("type"), self.node.get("value")
        is_map = type_ is not None and type_.text is not None and type_.text.upper() == "MAP"
        return params_in(value) if is_map and value is not None else []


@dataclass(frozen=True, slots=True)
class EdgeOutline:
    """The way from one step to another."""

    target: str
    at: Position
    condition: Node


@dataclass(frozen=True, slots=True)
class StepOutline:
    """A step, as far as it can be read."""

    kind: str
    node: Node
    steps: tuple[StepOutline, ...]

    @property
    def id(self) -> str | None:
        """The id, if it is a text."""
        found = self.node.get("id")
        return None if found is None else found.text

    @property
    def at(self) -> Position:
        """The place of the id, or of the step."""
        found = self.node.get("id")
        return self.node.at if found is None else found.at

    def edges(self) -> list[EdgeOutline]:
        """The ways to other steps."""
        successors = self.node.get("transition", "successors")
        found = () if successors is None else successors.entries()
        return [EdgeOutline(target, at, condition) for target, at, condition in found]

    def params(self) -> list[ParamOutline]:
        """The params of the step."""
        found = self.node.get("params")
        return [] if found is None else params_in(found)

    def loop_params(self) -> list[ParamOutline]:
        """The params of a loop."""
        found = self.node.get("params", LOOP_PARAMS, "value")
        return [] if found is None or self.kind not in ("foreach", "while") else params_in(found)


def params_in(node: Node) -> list[ParamOutline]:
    """The params of a map of params."""
    return [ParamOutline(name, at, value) for name, at, value in node.entries()]


def outline(steps: Node | None) -> tuple[StepOutline, ...]:
    """The steps of a list, with those inside them."""
    if steps is None:
        return ()
    found = []
    for item in steps.items():
        kind = next(iter(item.value)) if item.is_map and len(item.value) == 1 else None
        body = None if kind is None else item.get(kind)
        if kind in KINDS and body is not None and body.is_map:
            found.append(StepOutline(kind, body, outline(body.get("steps"))))
    return tuple(found)


def walk(steps: tuple[StepOutline, ...]) -> Iterator[StepOutline]:
    """Every step, those inside loops after their loop."""
    for step in steps:
        yield step
        yield from walk(step.steps)
