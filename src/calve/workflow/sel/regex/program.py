"""A compiled pattern: a list of instructions, each a tuple that begins with its code."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from calve.workflow.sel.errors import SelError, value_error

#: Counted repetitions are written out, so a short pattern could become a very long program.
MAX_INSTRUCTIONS = 20_000


class Code(IntEnum):
    """What an instruction does."""

    #: (SET, accepts): one character.
    SET = 0
    #: (SPLIT, first, second): go on at the first; if that fails, at the second.
    SPLIT = 1
    #: (JUMP, target).
    JUMP = 2
    #: (SAVE, slot): remember the position.
    SAVE = 3
    #: (MOVED, slot): fail if the position is still the one remembered.
    MOVED = 4
    #: (AT, test): a test of the position, of no width.
    AT = 5
    #: (LOOK, program, ahead, wanted): another pattern before or after the position, of no width.
    LOOK = 6
    #: (ATOMIC, program): another pattern, whose first match stands.
    ATOMIC = 7
    #: (BACK, group, fold): what a group matched.
    BACK = 8
    #: (END,): matched.
    END = 9


Instruction = tuple[Any, ...]


@dataclass(slots=True)
class Program:
    """Instructions, and how many slots they remember positions in. Groups have slots 2n and 2n + 1."""

    instructions: list[Instruction] = field(default_factory=list)
    slots: int = 2
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)

    def add(self, *instruction: Any) -> int:
        """Add an instruction, and tell where it is."""
        if len(self.instructions) >= MAX_INSTRUCTIONS:
            raise bad_pattern("it is too large")
        self.instructions.append(instruction)
        return len(self.instructions) - 1


def bad_pattern(reason: str) -> SelError:
    """A pattern that cannot be used."""
    return value_error(
        f"the regular expression cannot be used: {reason}",
        "Escape characters that are meant literally: \\\\.",
    )
