"""Backfills as the state has them. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calve.backfill.plan import Plan, StagePlan
from calve.backfill.statuses import BackfillStatus, Phase


@dataclass(frozen=True, slots=True)
class Backfill:
    """A plan that was stored, and what became of it."""

    id: int
    plan: Plan
    status: BackfillStatus
    author: str
    reason: str | None
    auto_publish: bool
    concurrency: int
    instance_id: int | None
    created_at: int
    started_at: int | None = None
    ended_at: int | None = None

    @property
    def driver(self) -> str:
        """The workflow that drives it."""
        return driver_id(self.id)

    @property
    def jobs_workflow(self) -> str:
        """The workflow of its own Spark jobs."""
        return f"{self.driver}.jobs"

    def chunk_workflow(self, stage: int) -> str:
        """The workflow whose instances are the chunks of a stage."""
        return f"{self.driver}.{stage}.{self.plan.stages[stage].workflow_id}"


def driver_id(backfill_id: int) -> str:
    """The workflow that drives a backfill."""
    return f"backfill-{backfill_id}"


@dataclass(frozen=True, slots=True)
class TargetState:
    """A target while a stage is under way. `base`: where main was when the branch was made."""

    base: int | None
    #: Main before and after the publish; `to` None: not published.
    published_from: int | None = None
    published_to: int | None = None


@dataclass(frozen=True, slots=True)
class StageState:
    """What the phases of a stage have found out so far."""

    round: int = 1
    branch: str | None = None
    #: The branches were made; from then on they are only written to.
    branched: bool = False
    approved: bool = False
    targets: Mapping[str, TargetState] = field(default_factory=dict)
    #: What every source gives to a chunk, but for the chunk's bounds; None: not pinned yet.
    sources: Mapping[str, Mapping[str, Any]] | None = None
    #: Of a stage downstream: what of each source it brings, from a snapshot to another; None: not known.
    inputs: Mapping[str, tuple[int | None, int | None]] | None = None
    #: By target; None: not compared yet.
    reports: Mapping[str, Mapping[str, Any]] | None = None
    #: The chunks that are written again, and what of the former branches stays.
    replay: Mapping[str, Any] | None = None
    #: Branches of earlier rounds.
    old_branches: tuple[str, ...] = ()

    def with_target(self, table: str, **changes: Any) -> StageState:
        """The state with one target changed."""
        return replace(self, targets={**self.targets, table: replace(self.targets[table], **changes)})


@dataclass(frozen=True, slots=True)
class Stage:
    """One workflow of a backfill under way."""

    backfill_id: int
    ordinal: int
    plan: StagePlan
    phase: Phase
    state: StageState
    version: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a stage; `round` above 1: again, because the target had moved."""

    backfill_id: int
    stage: int
    ordinal: int
    round: int
    lower: Any
    upper: Any
    records: int | None
    workflow_id: str
    instance_id: int | None
    #: Of the newest run of the instance; None: not queued, or not looked up.
    status: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
