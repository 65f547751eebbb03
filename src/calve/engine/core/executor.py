"""Runs the types' own code: one event loop in one thread for all attempts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from calve import logs
from calve.engine.core.messages import Cancelled, Message, Reported
from calve.engine.core.step_state import AttemptKey
from calve.errors import CalveError, UnreachableError
from calve.steps.contract import Ending, Finished, Handle, Running, StepContext, StepType

log = logs.get_logger(__name__)

#: How long a type may take to end an attempt before the engine goes on without its word.
CANCEL_S = 60.0


@dataclass
class Job:
    """One attempt at work."""

    type: StepType
    context: StepContext
    handle: Handle | None
    news: asyncio.Event
    task: asyncio.Task[None] | None = None
    cancelling: bool = False


class Executor:
    """Starts, polls and cancels attempts, and reports what it learns. All methods are thread-safe."""

    def __init__(self, report: Callable[[Message], None]) -> None:
        self._report = report
        self._jobs: dict[AttemptKey, Job] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calve-steps", daemon=True)
        self._thread.start()

    def drive(self, key: AttemptKey, type_: StepType, context: StepContext, handle: Handle | None) -> None:
        """See an attempt through to its end; from a handle on, if there is one. Known attempts go on."""
        self._submit(self._drive(key, type_, context, handle))

    def cancel(self, key: AttemptKey, type_: StepType, context: StepContext, handle: Handle | None) -> None:
        """End an attempt and report `Cancelled`, whatever its type does about it."""
        self._submit(self._cancel(key, type_, context, handle))

    def forget_all(self) -> None:
        """Watch no attempt any longer; what runs outside goes on, and can be found again by its handle."""
        self._submit(self._forget_all()).result()

    def attempts(self) -> list[AttemptKey]:
        """What is at work here."""
        return list(self._jobs)

    def end(self, keys: Collection[AttemptKey]) -> None:
        """End attempts and report nothing: others have begun them again."""
        self._submit(self._end_quietly(keys)).result()

    def close(self) -> None:
        """Stop the thread; what runs outside goes on."""
        self.forget_all()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _submit(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _drive(
        self, key: AttemptKey, type_: StepType, context: StepContext, handle: Handle | None
    ) -> None:
        if key in self._jobs:
            return
        job = self._add(key, type_, context, handle)
        job.task = asyncio.ensure_future(self._see_through(key, job))

    def _add(self, key: AttemptKey, type_: StepType, context: StepContext, handle: Handle | None) -> Job:
        news = asyncio.Event()

        def wake() -> None:
            # An engine that has stopped needs no news: whoever takes the attempt over asks its type.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(news.set)

        job = Job(type_, replace(context, wake=wake), handle, news)
        self._jobs[key] = job
        return job

    async def _see_through(self, key: AttemptKey, job: Job) -> None:
        result = await self._attempt(job)
        while isinstance(result, Running):
            if job.handle != result.handle or result.progress is not None:
                job.handle = result.handle
                self._report(Reported(key, result))
            await self._pause(job, result.poll_after_s)
            result = await self._attempt(job)
        self._jobs.pop(key, None)
        self._report(Reported(key, result))

    async def _attempt(self, job: Job) -> Running | Finished:
        # Before the type looks: news that come while it does are about what it may have missed.
        job.news.clear()
        try:
            if job.handle is None:
                return await job.type.start(job.context)
            return await job.type.poll(job.context, job.handle)
        except UnreachableError as error:
            return Finished.failed(Ending.PLATFORM_ERROR, error.code, error.message, error.remedy)
        except CalveError as error:
            return Finished.failed(Ending.FATAL_ERROR, error.code, error.message, error.remedy)
        except Exception as error:  # a type is foreign code: whatever it raises ends its attempt
            log.warning("a step type failed", type=job.type.name, error=repr(error), exc_info=True)
            return Finished.failed(
                Ending.PLATFORM_ERROR, "STEP_TYPE_FAILED", f"{job.type.name}: {type(error).__name__}: {error}"
            )

    async def _pause(self, job: Job, seconds: float) -> None:
        try:
            await asyncio.wait_for(job.news.wait(), max(0.0, seconds))
        except TimeoutError:
            return

    async def _cancel(
        self, key: AttemptKey, type_: StepType, context: StepContext, handle: Handle | None
    ) -> None:
        job = self._jobs.get(key) or self._add(key, type_, context, handle)
        if job.cancelling:
            return
        job.cancelling = True
        if job.task is not None:
            job.task.cancel()
            await asyncio.wait({job.task}, timeout=CANCEL_S)
        job.task = asyncio.ensure_future(self._end(key, job))

    async def _end(self, key: AttemptKey, job: Job) -> None:
        try:
            await asyncio.wait_for(job.type.cancel(job.context, job.handle or {}), CANCEL_S)
        except Exception as error:  # noqa: BLE001  the engine goes on even if a type cannot end its work
            log.warning("a step could not be ended", type=job.type.name, step=key.step_id, error=repr(error))
        # It may have been done before it could be ended: a success is never taken for a stop.
        last = Running() if job.handle is None else await self._last_look(job)
        self._jobs.pop(key, None)
        done = isinstance(last, Finished) and last.ending is Ending.DONE
        self._report(Reported(key, last) if done else Cancelled(key))

    async def _last_look(self, job: Job) -> Running | Finished:
        try:
            return await asyncio.wait_for(self._attempt(job), CANCEL_S)
        except TimeoutError:
            return Running()

    async def _forget_all(self) -> None:
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        self._jobs.clear()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end_quietly(self, keys: Collection[AttemptKey]) -> None:
        jobs = [self._jobs.pop(key) for key in keys if key in self._jobs]
        for job in jobs:
            if job.task is not None:
                job.task.cancel()
        ends = (asyncio.wait_for(job.type.cancel(job.context, job.handle or {}), CANCEL_S) for job in jobs)
        await asyncio.gather(*ends, return_exceptions=True)


def run_inline(work: Coroutine[Any, Any, Running | Finished]) -> Running | Finished:
    """The result of an inline type's coroutine, which never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: Running | Finished = done.value
        return result
    work.close()
    raise RuntimeError("an inline step type awaited something")
