"""The steps of a workflow or of a loop, and the edges between them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter

from calve.workflow.definition.steps import NO_CONDITION, FailureMode, Step


class Graph:
    """Who comes after whom. `steps` has each step after all its predecessors."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        before: dict[str, list[str]] = {step.id: [] for step in steps}
        for step in steps:
            for successor in step.transition.successors:
                before[successor].append(step.id)
        by_id = {step.id: step for step in steps}
        self.steps: Mapping[str, Step] = {
            name: by_id[name] for name in TopologicalSorter(before).static_order()
        }
        self._before = before
        #: Whether the failure of a step may keep others from beginning.
        self.may_fail_at_once = any(step.failure_mode is FailureMode.FAIL_IMMEDIATELY for step in steps)

    def predecessors(self, step_id: str) -> list[str]:
        """The steps that must be complete before this one begins."""
        return self._before[step_id]

    def edges(self, step_id: str) -> Mapping[str, str]:
        """The successors of a step, with the conditions of their edges."""
        return self.steps[step_id].transition.successors

    def conditions(self, step_id: str) -> dict[str, str]:
        """The edges of a step that are not simply true."""
        return {
            successor: condition
            for successor, condition in self.edges(step_id).items()
            if condition != NO_CONDITION
        }

    def descendants(self, step_id: str) -> Iterator[str]:
        """All steps that come after a step, each once."""
        seen: set[str] = set()
        waiting = list(self.edges(step_id))
        while waiting:
            found = waiting.pop()
            if found not in seen:
                seen.add(found)
                yield found
                waiting.extend(self.edges(found))


_KEPT = 1_000
_graphs: dict[int, tuple[tuple[Step, ...], Graph]] = {}


def graph_of(steps: tuple[Step, ...]) -> Graph:
    """The graph of steps that stay as they are, made once."""
    known = _graphs.get(id(steps))
    # An id may be given again once its object is gone, so the object itself is kept and compared.
    if known is None or known[0] is not steps:
        if len(_graphs) >= _KEPT:
            _graphs.clear()
        _graphs[id(steps)] = known = (steps, Graph(steps))
    return known[1]
