"""The statuses of steps and runs, in Maestro's words."""

from __future__ import annotations

from enum import StrEnum


class StepStatus(StrEnum):
    """Where an attempt of a step stands."""

    #: Never begun: a predecessor failed, or has not ended yet. It has no row.
    NOT_CREATED = "NOT_CREATED"
    CREATED = "CREATED"
    INITIALIZED = "INITIALIZED"
    #: Held by a breakpoint or by a pause of the run.
    PAUSED = "PAUSED"
    WAITING_FOR_SIGNALS = "WAITING_FOR_SIGNALS"
    EVALUATING_PARAMS = "EVALUATING_PARAMS"
    WAITING_FOR_PERMITS = "WAITING_FOR_PERMITS"
    #: `start` of its type is called after this is durable.
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    #: The work is done; outputs are merged and signals sent.
    FINISHING = "FINISHING"

    # Complete: successors look at their edges.
    DISABLED = "DISABLED"
    UNSATISFIED = "UNSATISFIED"
    SKIPPED = "SKIPPED"
    SUCCEEDED = "SUCCEEDED"
    COMPLETED_WITH_ERROR = "COMPLETED_WITH_ERROR"

    # This attempt failed, and another follows.
    USER_FAILED = "USER_FAILED"
    PLATFORM_FAILED = "PLATFORM_FAILED"
    TIMEOUT_FAILED = "TIMEOUT_FAILED"

    # Failed for good.
    FATALLY_FAILED = "FATALLY_FAILED"
    INTERNALLY_FAILED = "INTERNALLY_FAILED"
    STOPPED = "STOPPED"
    TIMED_OUT = "TIMED_OUT"

    @property
    def is_complete(self) -> bool:
        """True if successors may go on."""
        return self in COMPLETE

    @property
    def is_retryable(self) -> bool:
        """True if another attempt follows."""
        return self in RETRYABLE

    @property
    def is_terminal(self) -> bool:
        """True if this attempt is over."""
        return self in TERMINAL

    @property
    def is_over(self) -> bool:
        """True if the step is over: no further attempt follows by itself."""
        return self in TERMINAL and self not in RETRYABLE


COMPLETE = frozenset(
    {
        StepStatus.DISABLED,
        StepStatus.UNSATISFIED,
        StepStatus.SKIPPED,
        StepStatus.SUCCEEDED,
        StepStatus.COMPLETED_WITH_ERROR,
    }
)
RETRYABLE = frozenset({StepStatus.USER_FAILED, StepStatus.PLATFORM_FAILED, StepStatus.TIMEOUT_FAILED})
FAILED = frozenset(
    {StepStatus.FATALLY_FAILED, StepStatus.INTERNALLY_FAILED, StepStatus.STOPPED, StepStatus.TIMED_OUT}
)
TERMINAL = COMPLETE | RETRYABLE | FAILED
ACTIVE = frozenset(StepStatus) - TERMINAL - {StepStatus.NOT_CREATED}


class RunStatus(StrEnum):
    """Where a run of a workflow instance stands."""

    #: In the queue of its workflow.
    CREATED = "CREATED"
    IN_PROGRESS = "IN_PROGRESS"
    TIMED_OUT = "TIMED_OUT"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    SUCCEEDED = "SUCCEEDED"

    @property
    def is_terminal(self) -> bool:
        """True if the run is over."""
        return self not in (RunStatus.CREATED, RunStatus.IN_PROGRESS)
