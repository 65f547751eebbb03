"""The limits of an evaluation, and the meter that keeps them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from calve.workflow.sel.errors import limit_error

OBJECT_BYTES = 32
CHARACTER_BYTES = 2
#: How many visits go by between two looks at the clock.
_VISITS_PER_LOOK = 256
_LOOK_MASK = _VISITS_PER_LOOK - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What one evaluation may use. All bounds are exclusive: reaching one is an error."""

    seconds: float = 120.0
    #: Values that wait for their operator.
    stack: int = 128
    #: Turns of one loop.
    loop: int = 25_001
    #: Elements of a `new` array.
    array: int = 25_001
    #: Characters of an expression.
    length: int = 10_000
    #: Nodes visited.
    visits: int = 100_000_000
    #: Bytes: 32 an object and 2 a character; nothing is given back during an evaluation.
    memory: int = 100_000_000
    #: Depth of nested statements and expressions.
    nesting: int = 200


class Meter:
    """Counts what one evaluation uses, and stops it at the limit."""

    __slots__ = ("_deadline", "limits", "memory", "visits")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.visits = 0
        self.memory = 0
        self._deadline = time.monotonic() + limits.seconds

    def visit(self, count: int = 1) -> None:
        """Count steps of work; now and then look at the clock."""
        before = self.visits
        self.visits = before + count
        if self.visits >= self.limits.visits:
            raise limit_error(f"the evaluation took more than {self.limits.visits} steps")
        if count > _VISITS_PER_LOOK or (before & _LOOK_MASK) + count > _LOOK_MASK:
            self.look_at_clock()

    def look_at_clock(self) -> None:
        """Stop the evaluation if its time is over."""
        if time.monotonic() >= self._deadline:
            raise limit_error(f"the evaluation took longer than {self.limits.seconds:g} s")

    def charge(self, size: int) -> None:
        """Count bytes, before they are used."""
        self.memory += size
        if self.memory >= self.limits.memory:
            raise limit_error(f"the evaluation took more than {self.limits.memory} bytes")

    def charge_objects(self, count: int) -> None:
        """Count many objects at once, before the first is made."""
        self.charge(count * OBJECT_BYTES)

    def charge_text(self, length: int) -> None:
        """Count the characters of a text, before it is made."""
        self.charge(length * CHARACTER_BYTES)
        # A text of a million characters takes as long to make as many small steps.
        self.visit(length >> 10)
