"""How much is in a state."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """How many of each kind of thing."""

    workflows: int = 10_000
    instances: int = 1_000_000
    #: So many of the newest instances have steps and events.
    detailed: int = 20_000
    #: Loops, spread over all instances, with so many iterations each.
    loops: int = 100
    iterations: int = 500
    signals: int = 100_000
    signal_names: int = 500
    captures: int = 50_000
    backfills: int = 300
    #: So many instances run, and half as many are queued.
    running: int = 30

    def __str__(self) -> str:
        return f"{self.workflows:,} workflows, {self.instances:,} instances"


SMALL = Scale(
    workflows=100,
    instances=1_000,
    detailed=500,
    loops=2,
    iterations=10,
    signals=100,
    signal_names=20,
    captures=100,
    backfills=5,
    running=4,
)
