"""Which actions are allowed in which status, for clients that show buttons."""

from __future__ import annotations

from calve.engine.model.statuses import RunStatus, StepStatus

_ENDING = ["STOP", "KILL"]


def instance_actions() -> dict[str, list[str]]:
    """The actions on an instance, by its status."""
    found: dict[str, list[str]] = {}
    for status in RunStatus:
        if status is RunStatus.CREATED:
            found[status.value] = _ENDING
        elif not status.is_terminal:
            found[status.value] = [*_ENDING, "PAUSE", "RESUME"]
        else:
            found[status.value] = ["RESTART"] + (["UNBLOCK"] if status is RunStatus.FAILED else [])
    return found


def step_actions() -> dict[str, list[str]]:
    """The actions on a step, by the status of its newest attempt."""
    return {
        status.value: _step_actions(status) for status in StepStatus if status is not StepStatus.NOT_CREATED
    }


def _step_actions(status: StepStatus) -> list[str]:
    if status.is_complete:
        return ["RESTART"]
    if status.is_over:
        return ["RESTART", "SKIP"]
    allowed = [*_ENDING, "SKIP"]
    if status is StepStatus.PAUSED:
        allowed.append("RESUME")
    if status is StepStatus.WAITING_FOR_SIGNALS:
        allowed.append("BYPASS_STEP_DEPENDENCIES")
    return [*allowed, "RESTART"] if status.is_retryable else allowed
