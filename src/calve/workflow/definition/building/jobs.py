"""Jobs, and the edges between them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from calve.errors import UsageError
from calve.workflow.definition.building.params import entries
from calve.workflow.definition.tree import Node, Position, node_of

_open_levels: ContextVar[tuple[Level, ...]] = ContextVar("open_levels", default=())
_HERE = str(Path(__file__).parent)

T = TypeVar("T", bound="Job | Sequence[Job]")


class Level:
    """A place where jobs are put: a workflow, or a loop."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __enter__(self) -> Self:
        _open_levels.set((*_open_levels.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _open_levels.set(_open_levels.get()[:-1])


class Job:
    """A job of the workflow or loop that is open."""

    def __init__(self, kind: str, words: Mapping[str, Any], params: Mapping[str, Any]) -> None:
        levels = _open_levels.get()
        self._at = caller()
        if not levels:
            raise UsageError(
                "JOB_OUTSIDE_WORKFLOW",
                f"{self._at}: the job '{words['id']}' is in no workflow",
                'Write it inside of "with Workflow(…):".',
            )
        self._kind = kind
        self._words = {key: value for key, value in words.items() if value is not None}
        self._params = entries(params)
        self._ways: list[Node] = []
        levels[-1].jobs.append(self)

    @property
    def id(self) -> str:
        """The id of the job."""
        return str(self._words["id"])

    def __rshift__(self, other: T) -> T:
        for target in _each(other):
            self._lead(target.id)
        return other

    def __rrshift__(self, others: Sequence[Job]) -> Job:
        for source in others:
            source._lead(self.id)
        return self

    def when(self, condition: str) -> Branch:
        """The way on if the SEL condition holds: `a.when("rows > 0") >> b`."""
        return Branch(self, f"IF {condition} THEN ")

    def otherwise(self) -> Branch:
        """The way on if no condition did: `a.otherwise() >> c`."""
        return Branch(self, "OTHERWISE ")

    def _lead(self, rule: str) -> None:
        self._ways.append(Node(rule, caller()))

    def node(self) -> Node:
        """The job in the language."""
        ways = {} if not self._ways else {"transition": Node(list(self._ways), self._at)}
        return node_of({self._kind: self._words | self._params | ways | self._inside()}, self._at)

    def _inside(self) -> dict[str, Any]:
        return {}


class Loop(Level, Job):
    """A job with jobs in it: `with foreach(…) as each:`."""

    def __init__(self, kind: str, words: Mapping[str, Any], params: Mapping[str, Any]) -> None:
        Level.__init__(self)
        Job.__init__(self, kind, words, params)

    def _inside(self) -> dict[str, Any]:
        return {"jobs": [inner.node() for inner in self.jobs]}


@dataclass(frozen=True, slots=True)
class Branch:
    """A conditional way on from a job."""

    source: Job
    rule: str

    def __rshift__(self, other: T) -> T:
        for target in _each(other):
            self.source._lead(self.rule + target.id)
        return other


def _each(target: Job | Sequence[Job]) -> Sequence[Job]:
    return [target] if isinstance(target, Job) else target


def caller() -> Position:
    """The place of the call in the user's file."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_HERE) and frame.f_back is not None:
        frame = frame.f_back
    return Position(frame.f_code.co_filename, frame.f_lineno, 1)
