"""What a step that is made of other runs promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from calve.engine.core.batch import Batch
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.steps.contract import Finished, Running

if TYPE_CHECKING:
    from calve.engine.core.context import Core


class Composite(Protocol):
    """Works on the handle of its step alone: counts, never lists that grow with the children."""

    def start(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        """Launch what can be launched."""

    def resume(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        """Go on after the step was read from the database."""

    def child_ended(
        self, core: Core, batch: Batch, run: RunState, step: StepState, instance_id: int, status: str
    ) -> Running | Finished:
        """One of its runs is over. Called once for each of them."""

    def stop(self, core: Core, batch: Batch, run: RunState, step: StepState) -> bool:
        """Ask its runs to end, as `step.ending` says; true if there are none left."""
