"""Which status may follow which: the one table that every change is checked against."""

from __future__ import annotations

from collections.abc import Mapping

from calve.engine.model.statuses import COMPLETE, FAILED, RETRYABLE, TERMINAL, RunStatus, StepStatus
from calve.errors import FailedError

S = StepStatus
#: What a person or a timeout of the run can do to an attempt that is under way.
_ENDED_FROM_OUTSIDE = frozenset({S.STOPPED, S.SKIPPED, S.FATALLY_FAILED, S.COMPLETED_WITH_ERROR, S.TIMED_OUT})
_FAILURES = frozenset(
    {S.USER_FAILED, S.PLATFORM_FAILED, S.TIMEOUT_FAILED, S.FATALLY_FAILED, S.COMPLETED_WITH_ERROR}
)

STEP_TRANSITIONS: Mapping[StepStatus, frozenset[StepStatus]] = {
    S.NOT_CREATED: frozenset({S.CREATED}),
    S.CREATED: frozenset({S.INITIALIZED, S.UNSATISFIED, S.DISABLED}) | _ENDED_FROM_OUTSIDE,
    S.INITIALIZED: frozenset({S.PAUSED, S.WAITING_FOR_SIGNALS, S.INTERNALLY_FAILED}) | _ENDED_FROM_OUTSIDE,
    S.PAUSED: frozenset({S.WAITING_FOR_SIGNALS}) | _ENDED_FROM_OUTSIDE,
    S.WAITING_FOR_SIGNALS: frozenset({S.EVALUATING_PARAMS, S.INTERNALLY_FAILED}) | _ENDED_FROM_OUTSIDE,
    S.EVALUATING_PARAMS: frozenset({S.WAITING_FOR_PERMITS, S.INTERNALLY_FAILED}) | _ENDED_FROM_OUTSIDE,
    S.WAITING_FOR_PERMITS: frozenset({S.STARTING, S.INTERNALLY_FAILED}) | _ENDED_FROM_OUTSIDE,
    S.STARTING: frozenset({S.RUNNING, S.FINISHING, S.INTERNALLY_FAILED}) | _FAILURES | _ENDED_FROM_OUTSIDE,
    S.RUNNING: frozenset({S.FINISHING, S.INTERNALLY_FAILED}) | _FAILURES | _ENDED_FROM_OUTSIDE,
    S.FINISHING: frozenset({S.SUCCEEDED, S.INTERNALLY_FAILED}) | _ENDED_FROM_OUTSIDE,
    # The wait for the next attempt can be cut short; all other ends are final for the attempt.
    **dict.fromkeys(RETRYABLE, _ENDED_FROM_OUTSIDE),
    # A step that failed for good may still be skipped while its run goes on.
    **dict.fromkeys(FAILED, frozenset({S.SKIPPED})),
    **dict.fromkeys(COMPLETE, frozenset()),
}  # fmt: skip

RUN_TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    RunStatus.CREATED: frozenset({RunStatus.IN_PROGRESS, RunStatus.STOPPED, RunStatus.FAILED}),
    RunStatus.IN_PROGRESS: frozenset(
        {RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.STOPPED, RunStatus.TIMED_OUT}
    ),
    **{
        status: frozenset()
        for status in (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.STOPPED, RunStatus.TIMED_OUT)
    },
}


def check_step(before: StepStatus, after: StepStatus) -> None:
    """Raise if an attempt may not go from one status to the other: that is a fault of the engine."""
    if after not in STEP_TRANSITIONS[before]:
        raise _illegal("step", before, after)


def check_run(before: RunStatus, after: RunStatus) -> None:
    """Raise if a run may not go from one status to the other: that is a fault of the engine."""
    if after not in RUN_TRANSITIONS[before]:
        raise _illegal("run", before, after)


def _illegal(what: str, before: str, after: str) -> FailedError:
    return FailedError(
        "TRANSITION_ILLEGAL",
        f"a {what} cannot go from {before} to {after}",
        "report this: it is a fault in Calve",
    )


assert set(STEP_TRANSITIONS) == set(StepStatus), "every status has a row"
assert all(status in STEP_TRANSITIONS for status in TERMINAL)


def transitions_table() -> str:
    """The table of step statuses as Markdown: a status, and all that may follow it."""
    lines = ["| status | may become |", "|---|---|"]
    for before in StepStatus:
        listed = ", ".join(status.value for status in StepStatus if status in STEP_TRANSITIONS[before])
        lines.append(f"| {before.value} | {listed or '(final)'} |")
    return "\n".join(lines) + "\n"
