"""How far a trigger has come with each of its signals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from calve.engine.outbox import dump


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Signals up to `used` cannot start anything any more; those up to `seen` have had their turn."""

    used: int
    seen: int

    @property
    def passed(self) -> int:
        """The last signal that need not be looked at again when it, or one before it, comes up."""
        return max(self.used, self.seen)


Checkpoints = Mapping[str, Checkpoint]


def to_text(checkpoints: Checkpoints) -> str:
    """The checkpoints as a column keeps them: name to `[used, seen]`."""
    return dump({name: [found.used, found.seen] for name, found in checkpoints.items()})


def from_text(text: str) -> dict[str, Checkpoint]:
    """The checkpoints in a column."""
    return {name: Checkpoint(*found) for name, found in json.loads(text).items()}
