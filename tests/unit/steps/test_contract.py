"""What every step type promises, shown for each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from calve.steps import registry
from calve.steps.contract import Ending, Finished, Options, Running, StepContext, StepType
from support.http_server import Asked, Reply, Server
from support.steps import DEADLINE_S, Driver, effects, make_context, make_settings, processes_of, until

Params = dict[str, Any]

# A call that is cut off while it connects leaves a coroutine of the network library unused.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:coroutine 'connect_tcp:RuntimeWarning"),
]


@dataclass(frozen=True)
class Kind:
    """How to make jobs of a type. `short` appends a line to `file`; `long` does so and then goes on."""

    name: str
    short: Callable[[Path, Server], Params]
    long: Callable[[Path, Server], Params] | None = None
    failing: Callable[[Path, Server], Params] | None = None
    has_effect: bool = True
    is_process: bool = False


def _reply(file: Path, server: Server, *, status: int = 200, wait: bool = False) -> Params:
    def answer(asked: Asked) -> Reply:
        with file.open("a") as stream:
            stream.write("called\n")
        if wait:
            server.release.wait(DEADLINE_S)
        return Reply(status=status)

    server.reply = answer
    return {"http": {"url": server.url}}


KINDS = (
    Kind("NoOp", short=lambda file, server: {}, has_effect=False),
    Kind(
        "Sleep",
        short=lambda file, server: {"sleep_seconds": 1},
        long=lambda file, server: {"sleep_seconds": 3600},
        failing=lambda file, server: {"sleep_seconds": -1},
        has_effect=False,
    ),
    Kind(
        "Shell",
        short=lambda file, server: {"script": f"echo ran >> {file}"},
        long=lambda file, server: {"script": f"echo ran >> {file}; sleep 3600 & wait"},
        failing=lambda file, server: {"script": f"echo ran >> {file}; exit 7"},
        is_process=True,
    ),
    Kind(
        "Python",
        short=lambda file, server: {"code": f"open({str(file)!r}, 'a').write('ran\\n')"},
        long=lambda file, server: {
            "code": f"import time\nopen({str(file)!r}, 'a').write('ran\\n')\ntime.sleep(3600)"
        },
        failing=lambda file, server: {"code": "raise ValueError('no')"},
        is_process=True,
    ),
    Kind(
        "Http",
        short=_reply,
        long=lambda file, server: _reply(file, server, wait=True),
        failing=lambda file, server: _reply(file, server, status=404),
    ),
)
LONG = [kind for kind in KINDS if kind.long is not None]
EFFECTIVE = [kind for kind in KINDS if kind.has_effect]
PROCESSES = [kind for kind in KINDS if kind.is_process]


def of(kinds: list[Kind] | tuple[Kind, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.name)


def fresh(kind: Kind) -> StepType:
    """A type as a new engine process has it: nothing is left of earlier calls."""
    registry.reload()
    found = registry.find(kind.name)
    assert found is not None
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "effects"


@of(KINDS)
def test_a_type_says_what_it_is(kind: Kind) -> None:
    type_ = fresh(kind)
    assert type_.name == kind.name
    assert isinstance(type_.inline, bool)
    assert issubclass(type_.options, Options)
    assert all(name == param.name for name, param in type_.schema.items())
    defaults = {name: param.value for name, param in type_.schema.items() if param.is_defined}
    fields = type_.options.model_fields
    assert {name: fields[name].default for name in defaults if name in fields}.items() <= defaults.items()


@of(KINDS)
def test_a_short_job_is_done(kind: Kind, tmp_path: Path, file: Path, server: Server) -> None:
    end = asyncio.run(Driver(fresh(kind), make_context(tmp_path, kind.short(file, server))).finish())
    assert (end.ending, end.error) == (Ending.DONE, None)


@of([kind for kind in KINDS if kind.failing is not None])
def test_a_failing_job_says_why(kind: Kind, tmp_path: Path, file: Path, server: Server) -> None:
    assert kind.failing is not None
    end = asyncio.run(Driver(fresh(kind), make_context(tmp_path, kind.failing(file, server))).finish())
    assert end.ending in (Ending.USER_ERROR, Ending.FATAL_ERROR)
    assert end.error is not None
    assert end.error.code
    assert end.error.message
    assert end.error.remedy


@of(EFFECTIVE)
def test_start_is_idempotent_by_attempt(kind: Kind, tmp_path: Path, file: Path, server: Server) -> None:
    context = make_context(tmp_path, kind.short(file, server))

    async def both() -> tuple[Finished, Finished]:
        await Driver(fresh(kind), context).start()
        return await Driver(fresh(kind), context).finish(), await Driver(fresh(kind), context).finish()

    assert [end.ending for end in asyncio.run(both())] == [Ending.DONE, Ending.DONE]
    assert effects(file) == 1


@of([kind for kind in LONG if kind.has_effect])
def test_start_is_idempotent_while_the_job_runs(
    kind: Kind, tmp_path: Path, file: Path, server: Server
) -> None:
    assert kind.long is not None
    context = make_context(tmp_path, kind.long(file, server))

    async def play() -> None:
        drivers = [Driver(fresh(kind), context) for _ in range(5)]
        await asyncio.gather(*(driver.start() for driver in drivers))
        await until(lambda: effects(file), "the effect")
        for driver in drivers:
            assert isinstance(await driver.poll(), Running)
        await drivers[0].cancel()

    asyncio.run(play())
    assert effects(file) == 1


@of(KINDS)
def test_another_engine_brings_it_to_the_same_end(
    kind: Kind, tmp_path: Path, file: Path, server: Server
) -> None:
    context = make_context(tmp_path, kind.short(file, server))
    first = Driver(fresh(kind), context)
    state = asyncio.run(first.start())
    if isinstance(state, Running) and not kind.has_effect:
        second = Driver(fresh(kind), context, state.handle)
        assert asyncio.run(second.finish()).ending is Ending.DONE
        return

    async def go_on() -> Running | Finished:
        later: Running | Finished = state
        while isinstance(later, Running):
            second = Driver(fresh(kind), context, later.handle)
            await second.start()
            later = await second.poll()
        return later

    end = asyncio.run(go_on())
    assert isinstance(end, Finished)
    assert end.ending is Ending.DONE


@of(LONG)
def test_cancel_leaves_nothing_running(kind: Kind, tmp_path: Path, file: Path, server: Server) -> None:
    assert kind.long is not None
    context = make_context(tmp_path, kind.long(file, server))

    async def play() -> int:
        driver = Driver(fresh(kind), context)
        state = await driver.start()
        assert isinstance(state, Running)
        if kind.has_effect:
            await until(lambda: effects(file), "the effect")
        before = len(processes_of(context))
        await driver.cancel()
        return before

    before = asyncio.run(play())
    assert bool(before) == kind.is_process
    assert processes_of(context) == []


@of(LONG)
def test_cancel_may_come_twice_and_before_the_handle_was_kept(
    kind: Kind, tmp_path: Path, file: Path, server: Server
) -> None:
    assert kind.long is not None
    context = make_context(tmp_path, kind.long(file, server))

    async def play() -> None:
        await Driver(fresh(kind), context).start()
        # Another engine, which knows that it may have been started and nothing else.
        other = Driver(fresh(kind), context)
        await other.cancel()
        await other.cancel()

    asyncio.run(play())
    assert processes_of(context) == []


@of(PROCESSES)
def test_a_job_that_ignores_sigterm_is_ended_by_force(
    kind: Kind, tmp_path: Path, file: Path, server: Server
) -> None:
    stubborn = {
        "Shell": f"trap '' TERM\necho ran >> {file}\nwhile :; do sleep 1; done",
        "Python": "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"if os.fork() == 0:\n    os.setsid()\nopen({str(file)!r}, 'a').write('ran\\n')\ntime.sleep(3600)",
    }[kind.name]
    key = "script" if kind.name == "Shell" else "code"
    context = make_context(tmp_path, {key: stubborn}, settings=make_settings(tmp_path, grace_s=0.2))

    async def play() -> None:
        driver = Driver(fresh(kind), context)
        await driver.start()
        await until(lambda: effects(file) == (1 if kind.name == "Shell" else 2), "the effect")
        await driver.cancel()

    asyncio.run(play())
    assert processes_of(context) == []


@of(PROCESSES)
@pytest.mark.parametrize("victim", ["the runner", "the job", "everything"])
def test_kill_9_is_a_platform_error_and_leaves_nothing(
    kind: Kind, victim: str, tmp_path: Path, file: Path, server: Server
) -> None:
    assert kind.long is not None
    context = make_context(tmp_path, kind.long(file, server))

    async def play() -> Finished:
        driver = Driver(fresh(kind), context)
        running = asyncio.create_task(driver.finish())
        await until(lambda: effects(file) and driver.handle, "the effect")
        _kill(victim, context, driver)
        return await running

    end = asyncio.run(play())
    assert end.ending is Ending.PLATFORM_ERROR
    assert end.error is not None
    assert end.error.code in ("STEP_PROCESS_LOST", "STEP_PROCESS_KILLED")
    assert processes_of(context) == []


def _kill(victim: str, context: StepContext, driver: Driver) -> None:
    found = processes_of(context)
    runner = [process for process in found if process.pid == driver.handle["pid"]]
    assert len(runner) == 1
    jobs = [process for process in found if process.ppid() == runner[0].pid]
    for process in {"the runner": runner, "the job": jobs, "everything": found}[victim]:
        process.kill()


@of(PROCESSES)
def test_the_end_wakes_the_engine_also_one_that_took_over(
    kind: Kind, tmp_path: Path, file: Path, server: Server
) -> None:
    script = f"while ! test -e {file}.go; do sleep 0.02; done"
    code = f"import os, time\nwhile not os.path.exists('{file}.go'): time.sleep(0.02)"
    context = make_context(tmp_path, {"script": script} if kind.name == "Shell" else {"code": code})
    asyncio.run(Driver(fresh(kind), context).start())

    async def take_over() -> Running | Finished:
        driver = Driver(fresh(kind), replace(context))
        assert isinstance(await driver.start(), Running)
        state = await driver.poll()
        Path(f"{file}.go").touch()
        while isinstance(state, Running):
            # Only a wake-up leads on from here; a needless one does no harm.
            await until(lambda: driver.wakes, "the wake-up")
            driver.wakes = 0
            state = await driver.poll()
        return state

    end = asyncio.run(take_over())
    assert isinstance(end, Finished)
    assert end.ending is Ending.DONE
