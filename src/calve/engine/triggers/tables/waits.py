"""How long changes had waited each time that a trigger started: whether its workflow falls behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from calve.engine.outbox import dump

_KEPT = 5
#: So many starts, each after a longer wait than the one before, are no chance.
_IN_A_ROW = 3
_GROWTH = 1.5
#: An engine has to notice a change before it starts anything.
_NOTICE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits before the last starts, in milliseconds, the newest last."""

    last_ms: tuple[int, ...] = ()

    def with_start(self, waited_ms: int) -> Waits:
        """The waits after one more start."""
        return Waits((*self.last_ms, max(0, waited_ms))[-_KEPT:])

    def fall_behind(self, allowed_ms: int) -> bool:
        """Whether changes wait longer each time, and longer than the trigger means them to."""
        last = self.last_ms[-_IN_A_ROW:]
        return (
            len(last) == _IN_A_ROW
            and _is_rising(last)
            and last[-1] >= last[0] * _GROWTH
            and last[-1] > allowed_ms + _NOTICE_MS
        )

    def to_text(self) -> str:
        """As a column keeps it."""
        return dump(list(self.last_ms))

    @classmethod
    def from_text(cls, text: str | None) -> Waits:
        """The inverse of `to_text`; None is a trigger that never started anything."""
        return cls() if text is None else cls(tuple(json.loads(text)))


def _is_rising(waits: Sequence[int]) -> bool:
    return all(before < after for before, after in pairwise(waits))
