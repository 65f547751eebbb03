"""Whatever the order of starts, polls, crashes and cancels, a job has its effect once at most."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calve.steps.contract import Ending, Finished, Running, StepContext
from calve.steps.shell import Shell
from support.steps import Driver, effects, make_context, make_settings, processes_of, until

#: `start` and `poll` are those of any engine; `forget` is an engine that dies before it kept the handle;
#: `let_go` lets the job end by itself; `kill` takes its runner away by force.
ACTIONS = st.lists(
    st.sampled_from(["start", "start", "poll", "forget", "new_loop", "let_go", "kill", "cancel"]), max_size=8
)


@pytest.mark.slow
@settings(max_examples=60)
@given(actions=ACTIONS)
def test_no_order_of_events_gives_two_effects_or_leaves_a_process(actions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        _play(Path(name), actions)


def _play(place: Path, actions: list[str]) -> None:
    file, go = place / "effects", place / "go"
    script = f"echo ran >> {file}; until test -e {go}; do sleep 0.01; done"
    context = make_context(place, {"script": script}, settings=make_settings(place, grace_s=0.5))
    history = _History(context, go)
    for part in _split(actions):
        asyncio.run(history.play(part))
    end = asyncio.run(history.bring_to_an_end())
    assert effects(file) <= 1
    # A runner that has recorded the end, or that came too late, is still on its way out.
    asyncio.run(until(lambda: not processes_of(context), "the end of all processes"))
    assert effects(file) <= 1
    if end.ending is Ending.DONE:
        assert effects(file) == 1
    if not history.harmed:
        assert end.ending is Ending.DONE
    else:
        assert end.ending in (Ending.DONE, Ending.PLATFORM_ERROR, Ending.USER_ERROR)


def _split(actions: list[str]) -> list[list[str]]:
    """The actions of one engine process after the other: each has a loop of its own."""
    parts: list[list[str]] = [[]]
    for action in actions:
        if action == "new_loop":
            parts.append([])
        else:
            parts[-1].append(action)
    return parts


class _History:
    def __init__(self, context: StepContext, go: Path) -> None:
        self._context = context
        self._go = go
        self._driver = Driver(Shell(), context)
        self._started = False
        self.harmed = False

    async def play(self, actions: list[str]) -> None:
        self._driver = Driver(Shell(), self._context, self._driver.handle)
        for action in actions:
            await getattr(self, f"_{action}")()

    async def bring_to_an_end(self) -> Finished:
        await self._let_go()
        end = await Driver(Shell(), self._context, self._driver.handle).finish()
        again = await self._driver.type.poll(self._context, self._driver.handle)
        assert isinstance(again, Finished)
        assert again.ending is end.ending
        return end

    async def _start(self) -> None:
        self._started = True
        await self._driver.start()

    async def _poll(self) -> None:
        if self._started:
            state = await self._driver.poll()
            assert isinstance(state, Running) or self.harmed or self._go.exists()

    async def _forget(self) -> None:
        # An engine without a handle does not poll: it starts the attempt again, or cancels it.
        self._started = False
        self._driver = Driver(Shell(), self._context)

    async def _let_go(self) -> None:
        self._go.touch()

    async def _kill(self) -> None:
        found = processes_of(self._context)
        pids = {process.pid for process in found}
        for process in found:
            self.harmed = True
            with suppress(psutil.NoSuchProcess):
                if process.ppid() not in pids:
                    process.kill()

    async def _cancel(self) -> None:
        self.harmed = True
        await self._driver.cancel()
