"""The transition table is whole: every status is reached, every way ends, and what is final stays so."""

from __future__ import annotations

import itertools

import pytest

from calve.engine.model.statuses import COMPLETE, RunStatus, StepStatus
from calve.engine.model.transitions import RUN_TRANSITIONS, STEP_TRANSITIONS, check_run, check_step
from calve.errors import FailedError


def test_every_status_can_be_reached_and_leads_to_an_end() -> None:
    reached, waiting = {StepStatus.NOT_CREATED}, [StepStatus.NOT_CREATED]
    while waiting:
        for status in STEP_TRANSITIONS[waiting.pop()] - reached:
            reached.add(status)
            waiting.append(status)
    assert reached == set(StepStatus)
    assert all(STEP_TRANSITIONS[status] for status in StepStatus if not status.is_terminal)


def test_what_is_complete_never_changes() -> None:
    assert all(not STEP_TRANSITIONS[status] for status in COMPLETE)
    assert all(not RUN_TRANSITIONS[status] for status in RunStatus if status.is_terminal)


@pytest.mark.parametrize("before", list(StepStatus))
def test_what_the_table_does_not_list_is_refused(before: StepStatus) -> None:
    for after in StepStatus:
        if after in STEP_TRANSITIONS[before]:
            check_step(before, after)
        else:
            with pytest.raises(FailedError, match=f"from {before} to {after}"):
                check_step(before, after)


def test_what_the_table_of_runs_does_not_list_is_refused() -> None:
    for before, after in itertools.product(RunStatus, RunStatus):
        if after not in RUN_TRANSITIONS[before]:
            with pytest.raises(FailedError):
                check_run(before, after)
