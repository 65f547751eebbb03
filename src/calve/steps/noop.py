"""NoOp: nothing, at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from calve.steps.contract import Finished, Handle, Options, Running, StepContext
from calve.workflow.params import ParamDefinition


class NoOp:
    """A step that is done as soon as it starts: a place for params and conditions."""

    name: ClassVar[str] = "NoOp"
    inline: ClassVar[bool] = True
    schema: ClassVar[Mapping[str, ParamDefinition]] = {}
    options: ClassVar[type[Options]] = Options

    async def start(self, context: StepContext) -> Running | Finished:
        """Done."""
        return Finished.done()

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """Done."""
        return Finished.done()

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """There is nothing to end."""
