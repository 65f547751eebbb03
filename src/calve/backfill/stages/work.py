"""What the phases of a stage work with."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calve.backfill.records import Backfill, Stage, StageState
from calve.backfill.statuses import Phase
from calve.backfill.store import read_backfill, read_stage, save_stage
from calve.engine.orchestrator import Orchestrator
from calve.ledger.ledger import Ledger

#: Ids of requests are made from what is requested, so that a second request after a crash is the same one.
_NAMESPACE = uuid.UUID("5b6c0a3e-5d1b-4c55-9d5e-7a2f6f0c1e11")


@dataclass(frozen=True, slots=True)
class Work:
    """A stage as it was just read, and the ways to the state, the engine and the lake."""

    backfill: Backfill
    stage: Stage
    orchestrator: Orchestrator
    ledger: Ledger
    say: Callable[[str], None]
    #: The run of the driver: what failed in an earlier one is tried again.
    attempt: int = 1

    @property
    def state(self) -> StageState:
        """What the phases have found out so far."""
        return self.stage.state

    def request_id(self, *parts: Any) -> str:
        """The id of a request about this stage: the same parts give the same id."""
        key = "/".join(map(str, (self.backfill.id, self.stage.ordinal, *parts)))
        return str(uuid.uuid5(_NAMESPACE, f"{self.orchestrator.database.url.split('://')[0]}:{key}"))

    def marker(self, what: str) -> str:
        """What the summary of a snapshot says that this round of the stage made outside of its chunks."""
        return f"{self.backfill.id}/{what}/{self.stage.ordinal}.{self.state.round}"

    def save(self, phase: Phase, state: StageState) -> Work:
        """Move the stage on, for good."""
        with self.orchestrator.database.write() as connection:
            stage = save_stage(connection, self.stage, phase, state)
        if phase is not self.stage.phase:
            self.say(f"{self.stage.plan.workflow_id}: {self.stage.phase.lower()} -> {phase.lower()}")
        return Work(self.backfill, stage, self.orchestrator, self.ledger, self.say, self.attempt)


def load_work(
    orchestrator: Orchestrator,
    ledger: Ledger,
    backfill_id: int,
    ordinal: int,
    say: Callable[[str], None],
    attempt: int,
) -> Work:
    """A stage as it is now."""
    with orchestrator.database.read() as connection:
        backfill = read_backfill(connection, backfill_id)
        stage = read_stage(connection, backfill, ordinal)
    return Work(backfill, stage, orchestrator, ledger, say, attempt)
