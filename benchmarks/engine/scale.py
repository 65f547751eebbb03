"""How much is measured: all of it, or enough to see that the benchmark works."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """How often, and how many."""

    one_step_runs: int = 100
    chain_runs: int = 9
    chain_steps: int = 50
    parallel_runs: int = 9
    parallel_steps: int = 200
    burst_rounds: int = 7
    burst_runs: int = 100
    foreach_few: int = 500
    foreach_many: int = 5_000
    queued: int = 10_000
    finished: int = 100_000
    looks: int = 60
    raw_s: float = 2.0
    idle_s: float = 10.0
    processes: int = 7

    def to_text(self) -> str:
        """The scale for a process of another environment."""
        return json.dumps(dataclasses.asdict(self))


QUICK = Scale(
    one_step_runs=20,
    chain_runs=2,
    parallel_runs=2,
    burst_rounds=2,
    foreach_few=100,
    foreach_many=1_000,
    queued=2_000,
    finished=10_000,
    looks=20,
    raw_s=0.5,
    idle_s=3.0,
    processes=3,
)
