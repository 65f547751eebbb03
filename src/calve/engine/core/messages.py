"""What wakes the scheduler. Every message names its object by key, so it can be handled again."""

from __future__ import annotations

from dataclasses import dataclass

from calve.engine.core.step_state import AttemptKey
from calve.steps.contract import Finished, Running


@dataclass(frozen=True, slots=True)
class GoOn:
    """A run was taken over, made or resumed: see what is to be done for it."""

    run: int


@dataclass(frozen=True, slots=True)
class Reported:
    """A driver has news of its attempt."""

    key: AttemptKey
    news: Running | Finished


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The work of an attempt was ended, because somebody asked for it."""

    key: AttemptKey


@dataclass(frozen=True, slots=True)
class PollInline:
    """An attempt of an inline type asked to be looked at."""

    key: AttemptKey


@dataclass(frozen=True, slots=True)
class StepDue:
    """The time of an attempt is over."""

    key: AttemptKey


@dataclass(frozen=True, slots=True)
class RetryDue:
    """The wait after a failed attempt is over."""

    key: AttemptKey


@dataclass(frozen=True, slots=True)
class RunDue:
    """The deadline of a run may be over."""

    run: int


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """A subworkflow or an iteration that ran in this engine is over."""

    run: int
    step_id: str
    child_instance_id: int
    status: str
    #: The count of the parent that this end is not part of yet.
    tally: int


@dataclass(frozen=True, slots=True)
class CountAnew:
    """Subworkflows or iterations that ran elsewhere are over."""

    run: int
    step_id: str


@dataclass(frozen=True, slots=True)
class LookAtPermits:
    """Other engines may have given permits back, or limits may have been raised."""


@dataclass(frozen=True, slots=True)
class TryPermits:
    """A step that waits for permits may get them now."""

    key: AttemptKey


@dataclass(frozen=True, slots=True)
class SignalSeen:
    """A signal came; steps of this engine may wait for it."""

    name: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """Other processes may have left work: commands, wakeups, runs without an owner, signals."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Time to say that this engine lives, and to look whether the others do."""


@dataclass(frozen=True, slots=True)
class TriggersDue:
    """A time trigger may have to fire."""


Message = (
    GoOn
    | Reported
    | Cancelled
    | PollInline
    | StepDue
    | RetryDue
    | RunDue
    | ChildEnded
    | CountAnew
    | TryPermits
    | LookAtPermits
    | SignalSeen
    | Sweep
    | Heartbeat
    | TriggersDue
)
