"""Running step types as an engine does: start, wait for the wake-up or the time, poll."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil

from calve.settings import HttpSettings, Settings, StepSettings, load_settings
from calve.steps.contract import Finished, Handle, Running, StepContext, StepType
from calve.steps.process.launching import FOLDER_VARIABLE

DEADLINE_S = 60.0
_numbers = itertools.count(1)


def make_settings(
    home: Path, *, grace_s: float = 5.0, steps: StepSettings | None = None, http: HttpSettings | None = None
) -> Settings:
    """Settings for steps; a cancelled job has `grace_s` to end by itself."""
    return load_settings(home).model_copy(
        update={
            "steps": steps or StepSettings(grace=timedelta(seconds=grace_s)),
            "http": http or HttpSettings(),
        }
    )


def make_context(
    home: Path, params: Mapping[str, Any] | None = None, *, settings: Settings | None = None
) -> StepContext:
    """A new attempt of a step with these params."""
    number = next(_numbers)
    own = dict(params or {})
    return StepContext(
        workflow_id="demo",
        instance_id=1,
        run_id=1,
        step_id=f"step{number}",
        attempt_id=1,
        attempt_uuid=f"attempt-{number}-{time.time_ns()}",
        params={"step_id": f"step{number}", **own},
        workflow_params={},
        own_params=own,
        settings=settings or make_settings(home),
        place=home / f"attempt{number}",
    )


@dataclass
class Driver:
    """One engine's view of one attempt. A second driver of the same context is another engine."""

    type: StepType
    context: StepContext
    handle: Handle = field(default_factory=dict)
    wakes: int = 0

    async def start(self) -> Running | Finished:
        self._woken = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._wake)

        self.context = replace(self.context, wake=wake)
        return self._keep(await self.type.start(self.context))

    async def poll(self) -> Running | Finished:
        return self._keep(await self.type.poll(self.context, self.handle))

    async def cancel(self) -> None:
        await self.type.cancel(self.context, self.handle)

    async def finish(self) -> Finished:
        """The end of the attempt: started, and asked when it is time or when it wakes the engine."""
        state = await self.start()
        deadline = time.monotonic() + DEADLINE_S
        while isinstance(state, Running):
            assert time.monotonic() < deadline, f"{self.context.step_id} does not end"
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), state.poll_after_s)
            self._woken.clear()
            state = await self.poll()
        return state

    def _wake(self) -> None:
        self.wakes += 1
        self._woken.set()

    def _keep(self, state: Running | Finished) -> Running | Finished:
        if isinstance(state, Running):
            self.handle = state.handle
        return state


def run_to_end(type_: StepType, context: StepContext) -> Finished:
    """The end of a new attempt, in a loop of its own."""
    return asyncio.run(Driver(type_, context).finish())


async def until(condition: Callable[[], object], what: str = "it") -> None:
    """Return once the condition holds; fail if it never does."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        await asyncio.sleep(0.01)


def processes_of(context: StepContext) -> list[psutil.Process]:
    """All processes that run for an attempt, found by the environment that the system shows of them."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            mark = process.environ().get(FOLDER_VARIABLE)
            if mark == str(context.place.absolute()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def runs(process: psutil.Process) -> bool:
    """False also for a process that has ended, and that nobody has asked for its end yet."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def effects(file: Path) -> int:
    """How often a job has had its effect: the lines that it appended to a file."""
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0
