"""What can be asked of the engine that owns a run."""

from __future__ import annotations

from enum import StrEnum


class Command(StrEnum):
    """The kinds of commands: those of people about a run or a step, and what engines tell each other."""

    STOP = "STOP"
    KILL = "KILL"
    PAUSE = "PAUSE"
    RESUME = "RESUME"

    STEP_STOP = "STEP_STOP"
    STEP_KILL = "STEP_KILL"
    STEP_SKIP = "STEP_SKIP"
    STEP_BYPASS = "STEP_BYPASS"
    STEP_RESUME = "STEP_RESUME"
    STEP_RESTART = "STEP_RESTART"

    #: A run that the step started is over.
    CHILD_ENDED = "CHILD_ENDED"
