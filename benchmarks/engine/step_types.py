"""Step types that do nothing, at the price of types that do something.

What acts outside the engine must be recorded as STARTING before it starts, and as done afterwards: two
commits, the second of which begins the next step of a chain. What goes on for a while is recorded with its
handle in between: one commit more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from calve.steps import registry
from calve.steps.contract import Finished, Handle, Options, Running, StepContext
from calve.workflow.params import ParamDefinition

NOOP = "NoOp"


class Effect:
    """Has its effect, which is none, when it starts."""

    name: ClassVar[str] = "BenchEffect"
    inline: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, ParamDefinition]] = {}
    options: ClassVar[type[Options]] = Options

    async def start(self, context: StepContext) -> Running | Finished:
        """Done, from outside the engine's own transaction."""
        return Finished.done()

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """Done."""
        return Finished.done()

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """There is nothing to end."""


class Watched(Effect):
    """Starts something that is over when it is looked at."""

    name: ClassVar[str] = "BenchWatched"

    async def start(self, context: StepContext) -> Running | Finished:
        """Begun: the handle is kept, and asked about at once."""
        return Running({"job": context.attempt_uuid}, poll_after_s=0)


def register() -> None:
    """Make the types known to this process."""
    own = {type_.name: f"{__name__}:{type_.__name__}" for type_ in (Effect, Watched)}
    registry.BUILT_IN = {**registry.BUILT_IN, **own}
    registry.reload()
