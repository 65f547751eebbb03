"""What a backfill and its stages can be, and what can follow what."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from calve.errors import RefusedError


class BackfillStatus(StrEnum):
    """How a backfill stands."""

    PLANNED = "PLANNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    DONE = "DONE"

    @property
    def is_over(self) -> bool:
        """Whether nothing of it can go on any more."""
        return self in (BackfillStatus.CANCELLED, BackfillStatus.DONE)


class Phase(StrEnum):
    """Where a stage is."""

    PLANNED = "PLANNED"
    #: The branch is made, and rows of the range are removed on it.
    PREPARING = "PREPARING"
    RUNNING = "RUNNING"
    VALIDATING = "VALIDATING"
    #: All is written and compared; somebody has to say that it may be published.
    WAITING = "WAITING"
    PUBLISHING = "PUBLISHING"
    #: The target has moved: what conflicts with that is written again, on a fresh branch.
    REPLAYING = "REPLAYING"
    PUBLISHED = "PUBLISHED"


_PHASES: Mapping[Phase, frozenset[Phase]] = {
    Phase.PLANNED: frozenset({Phase.PREPARING}),
    Phase.PREPARING: frozenset({Phase.RUNNING, Phase.PUBLISHED}),
    Phase.RUNNING: frozenset({Phase.VALIDATING, Phase.PUBLISHING}),
    Phase.VALIDATING: frozenset({Phase.WAITING, Phase.PUBLISHING}),
    Phase.WAITING: frozenset({Phase.PUBLISHING, Phase.VALIDATING}),
    Phase.PUBLISHING: frozenset({Phase.REPLAYING, Phase.PUBLISHED}),
    Phase.REPLAYING: frozenset({Phase.RUNNING}),
    Phase.PUBLISHED: frozenset(),
}

_STATUSES: Mapping[BackfillStatus, frozenset[BackfillStatus]] = {
    BackfillStatus.PLANNED: frozenset({BackfillStatus.RUNNING, BackfillStatus.CANCELLED}),
    BackfillStatus.RUNNING: frozenset(
        {BackfillStatus.PAUSED, BackfillStatus.FAILED, BackfillStatus.CANCELLED, BackfillStatus.DONE}
    ),
    BackfillStatus.PAUSED: frozenset(
        {BackfillStatus.RUNNING, BackfillStatus.FAILED, BackfillStatus.CANCELLED, BackfillStatus.DONE}
    ),
    # Done: what failed went well when it was done again after a crash.
    BackfillStatus.FAILED: frozenset({BackfillStatus.RUNNING, BackfillStatus.CANCELLED, BackfillStatus.DONE}),
    BackfillStatus.CANCELLED: frozenset(),
    BackfillStatus.DONE: frozenset(),
}


def may_enter(phase: Phase, following: Phase) -> bool:
    """Whether a stage may go from one phase to another."""
    return following is phase or following in _PHASES[phase]


def require_move(backfill_id: int, status: BackfillStatus, wanted: BackfillStatus, verb: str) -> None:
    """Raise BACKFILL_<STATUS> unless a backfill may become what is wanted."""
    if wanted not in _STATUSES[status]:
        raise refusal(backfill_id, status, verb)


def refusal(backfill_id: int, status: BackfillStatus, verb: str) -> RefusedError:
    """The error for what cannot be done to a backfill as it stands."""
    remedies = {
        BackfillStatus.PLANNED: f"start it with `calve backfill run {backfill_id}`",
        BackfillStatus.RUNNING: f"see `calve backfill status {backfill_id}`",
        BackfillStatus.PAUSED: f"let it go on with `calve backfill resume {backfill_id}`",
        BackfillStatus.FAILED: f"go on with `calve backfill retry {backfill_id}`, or cancel it",
    }
    return RefusedError(
        f"BACKFILL_{status.value}",
        f"backfill {backfill_id} is {status.value.lower()}: it cannot be {verb}",
        remedies.get(status, "make a new plan with `calve backfill plan`"),
    )
