"""Spark: SQL, a PySpark script or a function with a session, in a process of its own."""

from __future__ import annotations

import asyncio
import glob
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from calve.errors import FailedError
from calve.spark.files import read_json
from calve.spark.host.folder import HostFolder
from calve.spark.once.plan import WAP_BRANCH, OncePlan
from calve.spark.step.failures import FATAL_ERROR, PLATFORM_ERROR
from calve.spark.step.spec import FAILURE_FILE, PROGRESS_FILE, SPEC_FILE, StepSpec
from calve.steps.contract import Ending, Finished, Handle, Options, Running, StepContext
from calve.steps.process.handle import ProcessHandle
from calve.steps.process.launching import Command
from calve.steps.process.outputs import JobOutput
from calve.steps.process.step import ProcessStep
from calve.steps.schema import optional, schema
from calve.steps.spark_spec import SparkOptions, exactly_once, make_spec, working_directory_of
from calve.steps.writes import plan_writes, record_writes
from calve.steps.written import with_script, with_writes
from calve.workflow.params import ParamDefinition, ParamType

_POLL_S = 1.0
_RELEASE_POLL_S = 0.1
#: More than the host takes to give a step up that does not end.
_RELEASE_S = 55.0
_ENDINGS = {PLATFORM_ERROR: Ending.PLATFORM_ERROR, FATAL_ERROR: Ending.FATAL_ERROR}


class Spark(ProcessStep):
    """Work in Spark. An attempt is over only when nothing of it runs in Spark any more."""

    name: ClassVar[str] = "Spark"
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        optional("script", ParamType.STRING),
        optional("file", ParamType.STRING),
        optional("main", ParamType.STRING),
        optional("args", ParamType.STRING_ARRAY),
        optional("session", ParamType.STRING),
        optional("spark_conf", ParamType.STRING_MAP),
        optional("spark_url", ParamType.STRING),
        optional("master", ParamType.STRING),
        optional("cwd", ParamType.STRING),
        optional("exactly_once", ParamType.BOOLEAN),
    )
    options: ClassVar[type[Options]] = SparkOptions

    def make_command(self, context: StepContext) -> Command:
        """Python on the spec of this attempt."""
        _await_earlier(context)
        spec = make_spec(type(self).options, context, self.job_params(context))
        plan = self.plan_writes(context, spec.script)
        marked = replace(spec, once=None if plan is None else plan.to_json())
        return Command(
            argv=(sys.executable, "-u", "-m", "calve.spark.step", str(marked.write())),
            cwd=working_directory_of(type(self).options, context),
        )

    def plan_writes(self, context: StepContext, script: str | None) -> OncePlan | None:
        """The captures that the step runs under, so that what it writes lands once; None without any."""
        return plan_writes(context, script) if exactly_once(type(self).options, context) else None

    def describe(self, context: StepContext) -> Mapping[str, Any] | None:
        """Statements, jobs, stages, tasks and rows."""
        return read_json(context.place / PROGRESS_FILE)

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """How it stands. Before it counts as ended, Spark has dropped what a dead process left there."""
        outcome = await super().poll(context, handle)
        if isinstance(outcome, Running):
            return outcome
        if not await asyncio.to_thread(_is_released, context.place):
            waiting = {"message": "waiting for Spark to drop the jobs of this attempt"}
            return Running(handle, waiting, _RELEASE_POLL_S)
        if outcome.ending is not Ending.DONE and not (context.place / FAILURE_FILE).exists():
            # It had no time for a word, nor to end what it has on a server.
            await _interrupt_remote(context)
        return await asyncio.to_thread(settle, context, outcome)

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """End the process and, in Spark, the jobs."""
        await super().cancel(context, handle)
        await _interrupt_remote(context)
        await asyncio.to_thread(_await_release, context.step_id, context.place)
        await asyncio.to_thread(record_writes, context)

    async def _running(self, context: StepContext, process: ProcessHandle) -> Running:
        running = await super()._running(context, process)
        return replace(running, poll_after_s=min(running.poll_after_s, _POLL_S))

    def _exited(self, context: StepContext, code: int) -> Finished:
        finished = super()._exited(context, code)
        counts = read_json(context.place / PROGRESS_FILE) or {}
        shown = {key: value for key, value in counts.items() if key not in ("message", "fraction")}
        return replace(finished, artifacts={**finished.artifacts, "spark": shown}) if shown else finished

    def _failed(self, context: StepContext, code: int, output: JobOutput) -> Finished:
        failure = read_json(context.place / FAILURE_FILE)
        if failure is None:
            return self._failed_silently(context, code, output)
        ending = _ENDINGS.get(failure["exit_code"], Ending.USER_ERROR)
        if not output.retryable:
            ending = Ending.FATAL_ERROR
        return Finished.failed(
            ending, failure["code"], failure["message"], failure["remedy"], artifacts=output.artifacts
        )

    def _failed_silently(self, context: StepContext, code: int, output: JobOutput) -> Finished:
        """No word from the step: with `spark-submit` it is Spark that did not come up, or went down."""
        finished = super()._failed(context, code, output)
        spec = _spec(context.place)
        if spec is None or spec.session != "submit" or finished.ending is not Ending.USER_ERROR:
            return finished
        return replace(finished, ending=Ending.PLATFORM_ERROR)


def _spec(place: Path) -> StepSpec | None:
    file = place / SPEC_FILE
    return StepSpec.read(file) if file.exists() else None


def settle(context: StepContext, finished: Finished) -> Finished:
    """Nothing of the attempt runs any more: account for what it wrote."""
    spec = _spec(context.place)
    is_visible = spec is None or WAP_BRANCH not in spec.spark_conf
    written = with_writes(finished, record_writes(context), is_visible=is_visible)
    if spec is None or spec.once is not None or spec.script is None or finished.ending is not Ending.DONE:
        return written
    return with_script(written, context, spec.script) if is_visible else written


def _is_released(place: Path) -> bool:
    """True if the embedded Spark has nothing of an attempt: it ended cleanly, or the host tidied up."""
    spec = _spec(place)
    if spec is None or spec.host is None:
        return True
    folder = HostFolder(Path(spec.host))
    registration = folder.registration_file(spec.attempt)
    if not registration.exists():
        return True
    if not folder.has_ended():
        return False
    registration.unlink(missing_ok=True)
    return True


def _await_release(step_id: str, place: Path) -> None:
    deadline = time.monotonic() + _RELEASE_S
    while not _is_released(place):
        if time.monotonic() > deadline:
            raise FailedError(
                "STEP_NOT_ENDED",
                f"Spark does not drop the jobs of step '{step_id}'",
                "look at the log of the embedded Spark in the home, under spark/hosts",
            )
        time.sleep(_RELEASE_POLL_S)


def _await_earlier(context: StepContext) -> None:
    """No attempt begins while one before it, in this run or an earlier one, may still commit."""
    instance = context.place.parents[2]
    for spec_file in instance.glob(f"*/{glob.escape(context.step_id)}/*/{SPEC_FILE}"):
        if spec_file.parent != context.place:
            _await_release(context.step_id, spec_file.parent)


async def _interrupt_remote(context: StepContext) -> None:
    """End what the attempt left on a Spark Connect server: its process may have had no time for it."""
    spec = await asyncio.to_thread(_spec, context.place)
    if spec is None or spec.session != "connect":
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "calve.spark.step",
        "--interrupt",
        str(context.place / SPEC_FILE),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    if process.returncode:
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        context.log(f"calve: the work on the Spark Connect server could not be ended: {' '.join(last)}")
