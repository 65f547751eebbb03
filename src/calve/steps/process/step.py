"""The step types that are a command: what they share is everything but the command."""

from __future__ import annotations

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from calve.errors import CalveError, UsageError
from calve.steps.contract import LOG_FILE, Ending, Finished, Handle, Options, Running, StepContext
from calve.steps.incremental.backfilling import backfill_of
from calve.steps.options import READS, WRITES, refused
from calve.steps.process.environment import job_environment, write_params
from calve.steps.process.handle import ProcessHandle
from calve.steps.process.inspection import Alive, Exited, Vanished, inspect
from calve.steps.process.launching import Command, launch
from calve.steps.process.output_log import tail
from calve.steps.process.outputs import JobOutput, read_output
from calve.steps.process.termination import terminate
from calve.steps.process.watching import watch_exit
from calve.steps.process.wrapper import read_record
from calve.workflow.params import ParamDefinition

#: How often to ask for a process whose end is told, and for one whose end is not.
WATCHED_POLL_S = 5.0
UNWATCHED_POLL_S = 0.5

_SIGNAL_BASE = 128


class ProcessStep(ABC):
    """A step type that runs a command in the folder of the attempt. A subclass makes the command.

    It may also override `failure_text`, `describe` (what to show while it runs), and what becomes of a
    process that runs (`_running`), has ended (`_exited`, `_failed`) or is lost (`_vanished`).
    """

    name: ClassVar[str]
    inline: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, ParamDefinition]]
    options: ClassVar[type[Options]]

    @abstractmethod
    def make_command(self, context: StepContext) -> Command:
        """The command; called once before it starts, in a thread. Files go to `context.folder`."""

    def failure_text(self, context: StepContext) -> str:
        """What the log says about a failure."""
        return tail(context.place / LOG_FILE)

    def describe(self, context: StepContext) -> Mapping[str, Any] | None:
        """The progress of a running job, if there is something to show; called in a thread."""
        return None

    def job_params(self, context: StepContext) -> dict[str, Any]:
        """The step's own params without the options of its type: what the job gets to see."""
        options = {*self.schema, *self.options.model_fields, self.options.section, READS, WRITES}
        return {name: value for name, value in context.own_params.items() if name not in options}

    async def start(self, context: StepContext) -> Running | Finished:
        """Launch the command, or find the one that this attempt has launched."""
        try:
            handle = await asyncio.to_thread(self._launch, context)
        except CalveError as error:
            return refused(error)
        return await self._running(context, handle)

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """How the command stands; its end is told to the engine that asks.

        What a failed command has left running is ended, so that the next attempt does not run beside it.
        """
        process = _process(context, handle)
        state = await asyncio.to_thread(inspect, process, context.place)
        match state:
            case Alive(current):
                return await self._running(context, current)
            case Exited(code):
                finished = await asyncio.to_thread(self._exited, context, code)
                if code != 0:
                    await self._end(context, process)
                return finished
            case Vanished(lost):
                await self._end(context, lost)
                return await self._vanished(context, lost)

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """End the command and all that it started."""
        process = _process(context, handle)
        if not process.is_local:
            context.log(f"calve: the job was started on host {process.host} and is not looked for there")
        await self._end(context, process)

    async def _end(self, context: StepContext, process: ProcessHandle) -> None:
        await terminate(process, context.place, context.settings.steps.grace.total_seconds())

    def _launch(self, context: StepContext) -> ProcessHandle:
        found = read_record(context.place)
        if found is not None:
            return found
        command = self.make_command(context)
        params = self.job_params(context)
        write_params(context.folder, params)
        environment = {**job_environment(context, params), **_of_backfill(context), **command.env}
        return launch(context.folder, command.argv, environment, command.cwd)

    async def _running(self, context: StepContext, process: ProcessHandle) -> Running:
        watched = watch_exit(process, context.wake)
        progress = await asyncio.to_thread(self.describe, context)
        return Running(process.to_json(), progress, WATCHED_POLL_S if watched else UNWATCHED_POLL_S)

    def _exited(self, context: StepContext, code: int) -> Finished:
        try:
            output = read_output(context.place, context.attempt_uuid)
        except UsageError as error:
            if code == 0:
                return Finished.failed(Ending.USER_ERROR, error.code, error.message, error.remedy)
            output = JobOutput()
        if code == 0:
            return Finished.done(output.params, artifacts=output.artifacts, signals=output.signals)
        return self._failed(context, code, output)

    def _failed(self, context: StepContext, code: int, output: JobOutput) -> Finished:
        ending = Ending.USER_ERROR if output.retryable else Ending.FATAL_ERROR
        name = signal_name(code)
        if name == signal.SIGKILL.name and output.retryable:
            return Finished.failed(
                Ending.PLATFORM_ERROR,
                "STEP_PROCESS_KILLED",
                self._message(context, "the job was killed (SIGKILL)"),
                "look at the memory of the host: it kills what takes too much",
                artifacts=output.artifacts,
            )
        said = f"the job ended with exit code {code}" + (f" ({name})" if name else "")
        return Finished.failed(
            ending,
            "STEP_FAILED",
            self._message(context, said),
            "look at the step's log",
            artifacts=output.artifacts,
        )

    def _message(self, context: StepContext, said: str) -> str:
        text = self.failure_text(context)
        return f"{said}\n{text}" if text else said

    async def _vanished(self, context: StepContext, lost: ProcessHandle) -> Finished:
        where = "" if lost.is_local else f" of host {lost.host}"
        return Finished.failed(
            Ending.PLATFORM_ERROR,
            "STEP_PROCESS_LOST",
            self._message(context, f"process {lost.pid}{where} is gone without an exit code"),
            "it was killed by force, or its host went down",
        )


def _of_backfill(context: StepContext) -> dict[str, str]:
    """What a job in a chunk of a backfill finds besides: which backfill, and the branch to write."""
    scope = backfill_of(context)
    if scope is None:
        return {}
    branch = {} if scope.branch is None else {"CALVE_BRANCH": scope.branch}
    return {"CALVE_BACKFILL": str(scope.backfill_id), **branch}


def signal_name(code: int) -> str | None:
    """The signal that an exit code of a shell stands for."""
    try:
        return signal.Signals(code - _SIGNAL_BASE).name if code > _SIGNAL_BASE else None
    except ValueError:
        return None


def _process(context: StepContext, handle: Handle) -> ProcessHandle:
    """The process of a handle; an engine that died before it kept one finds it in the folder."""
    if handle:
        return ProcessHandle.from_json(handle)
    return read_record(context.place) or ProcessHandle.nobody()
