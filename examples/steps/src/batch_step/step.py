"""Batch: a job on a batch system."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from calve.errors import UsageError
from calve.steps.contract import Ending, Finished, Handle, Options, Running, StepContext
from calve.steps.options import read_options, refused
from calve.steps.schema import optional, required, schema
from calve.workflow.params import ParamDefinition, ParamType

from . import queue

POLL_S = 0.2


class BatchOptions(Options):
    """What to run, and where."""

    job: str
    queue: str


class Batch:
    """A job on a batch system. Its output is the param `answer`."""

    name: ClassVar[str] = "Batch"
    inline: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        required("job", ParamType.STRING),
        required("queue", ParamType.STRING),
        optional("answer", ParamType.STRING, ""),
    )
    options: ClassVar[type[Options]] = BatchOptions

    async def start(self, context: StepContext) -> Running | Finished:
        """Send the job under the name of this attempt: sent again after a crash, it is the same job."""
        try:
            options = read_options(BatchOptions, context)
        except UsageError as error:
            return refused(error)
        job = await asyncio.to_thread(queue.submit, Path(options.queue), context.attempt_uuid, options.job)
        return Running(job, poll_after_s=POLL_S)

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """Ask the batch system; any engine can, from the handle alone."""
        try:
            code = await asyncio.to_thread(queue.exit_code, handle)
        except queue.JobLostError as error:
            return Finished.failed(Ending.PLATFORM_ERROR, "BATCH_JOB_LOST", str(error), "try it again")
        if code is None:
            return Running(handle, {"message": "the job runs"}, POLL_S)
        text = await asyncio.to_thread(queue.output, handle)
        context.log(text)
        if code == 0:
            return Finished.done({"answer": text.strip()})
        return Finished.failed(
            Ending.USER_ERROR, "BATCH_JOB_FAILED", f"the job ended with {code}", "look at the step's log"
        )

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """Withdraw the job by its name: an engine that died may not have kept the handle."""
        options = read_options(BatchOptions, context)
        await queue.withdraw(Path(options.queue), context.attempt_uuid)
