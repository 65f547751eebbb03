"""What a statement is called under the captures that its step runs under.

A statement of a step is known by a capture and by the way from the capture's run to it: the steps and
iterations in between, the step, and its number. That name is the same in every attempt, in a restarted run,
and in a later run that takes the capture over. `calve.statement` in the summary of a snapshot has it:

    cap_1/write/2             statement 2 of step write
    cap_1+cap_2/write/2       under two captures of one run
    cap_1/days/7/write/2      in iteration 7 of the loop `days`
    cap_1/sub/write/2|cap_2/write/2   under a capture of the run around, and one of its own
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

#: The property of a snapshot's summary that says which statement made it.
STATEMENT_PROPERTY = "calve.statement"
_OR = "|"
_AND = "+"
_STEP = "/"


@dataclass(frozen=True, slots=True)
class Scope:
    """The captures that a step runs under, each with the way from its run to the step."""

    paths: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, paths: Iterable[Sequence[str]]) -> Self:
        """From pairs of a capture and a path."""
        return cls(tuple((capture, path) for capture, path in paths))

    @property
    def captures(self) -> tuple[str, ...]:
        """The ids of the captures."""
        return tuple(capture for capture, _ in self.paths)

    @property
    def prefix(self) -> str:
        """What all markers of the step begin with, where all captures are of one run."""
        return _OR.join(self._groups())

    def names(self, statement: str) -> dict[str, str]:
        """What a statement is called under each capture."""
        return {capture: f"{path}{_STEP}{statement}" for capture, path in self.paths}

    def marker(self, statement: str) -> str:
        """What the summary of the snapshot says that the statement makes."""
        return _OR.join(f"{group}{_STEP}{statement}" for group in self._groups())

    def is_of(self, marker: str, statement: str) -> bool:
        """True if a marker is that of a statement of this step, under any of its captures."""
        return not read_marker(marker).isdisjoint(self.names(statement).items())

    def _groups(self) -> list[str]:
        by_path: dict[str, list[str]] = {}
        for capture, path in self.paths:
            by_path.setdefault(path, []).append(capture)
        return [f"{_AND.join(captures)}{_STEP}{path}" for path, captures in by_path.items()]


def read_marker(marker: str) -> set[tuple[str, str]]:
    """The captures of a marker, each with what the statement is called under it."""
    found = set()
    for group in marker.split(_OR):
        captures, _, name = group.partition(_STEP)
        found |= {(capture, name) for capture in captures.split(_AND)}
    return found
