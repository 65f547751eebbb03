"""Sleep: time passes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from calve.errors import UsageError
from calve.steps.contract import Finished, Handle, Options, Running, StepContext
from calve.steps.options import read_options, refused
from calve.steps.schema import optional, schema
from calve.workflow.params import ParamDefinition, ParamType

DEFAULT_S = 3


class SleepOptions(Options):
    """How long to sleep."""

    section: ClassVar[str | None] = "sleep"

    #: How long to sleep, in seconds.
    sleep_seconds: int = Field(default=DEFAULT_S, ge=0)


class Sleep:
    """A step that ends `sleep_seconds` after its start, also if the engine was away in between."""

    name: ClassVar[str] = "Sleep"
    inline: ClassVar[bool] = True
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        optional("sleep_seconds", ParamType.LONG, DEFAULT_S)
    )
    options: ClassVar[type[Options]] = SleepOptions

    async def start(self, context: StepContext) -> Running | Finished:
        """Keep the time at which it ends."""
        try:
            seconds = read_options(SleepOptions, context).sleep_seconds
        except UsageError as error:
            return refused(error)
        return self._look(time.time() + seconds, seconds)

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """Done once the time is over."""
        return self._look(float(handle["until"]), float(handle["seconds"]))

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """There is nothing to end."""

    def _look(self, until: float, seconds: float) -> Running | Finished:
        # A clock that was set back makes the rest look longer than the whole: it never is.
        left = min(until - time.time(), seconds)
        if left <= 0:
            return Finished.done()
        return Running({"until": until, "seconds": seconds}, poll_after_s=left)
