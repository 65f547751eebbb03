"""Processes that outlive the engine: launched once, told apart, watched, ended."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from calve.errors import UsageError
from calve.steps.process import Alive, Exited, ProcessHandle, Vanished, inspect, launch, terminate, watch_exit
from calve.steps.process.handle import this_host
from calve.steps.process.wrapper import EXIT_FILE, RECORD_FILE, read_record
from support.steps import effects, until

pytestmark = pytest.mark.slow

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "attempt"


def _commands(pid: int, name: str) -> list[psutil.Process]:
    """The children that have become the command by now, and are no mere fork of their parent."""
    return [child for child in psutil.Process(pid).children() if child.name() == name]


def _open_descriptors() -> set[str]:
    return {item.name for item in Path("/proc/self/fd").iterdir()}


async def end_of(handle: ProcessHandle, folder: Path) -> Exited | Vanished:
    await until(lambda: not isinstance(inspect(handle, folder), Alive), "the end")
    state = inspect(handle, folder)
    assert not isinstance(state, Alive)
    return state


@pytest.mark.parametrize("code", [0, 1, 3, 127, 255])
def test_the_exit_code_is_recorded(folder: Path, code: int) -> None:
    handle = launch(folder, ["sh", "-c", f"exit {code}"], ENV)
    assert asyncio.run(end_of(handle, folder)) == Exited(code)


def test_a_command_that_is_not_there_ends_with_127_and_a_line_in_the_log(folder: Path) -> None:
    handle = launch(folder, ["no-such-command"], ENV)
    assert asyncio.run(end_of(handle, folder)) == Exited(127)
    assert "no-such-command" in (folder / "log.txt").read_text()


def test_output_goes_to_the_log_stdin_is_empty_and_the_session_is_its_own(folder: Path) -> None:
    handle = launch(folder, ["sh", "-c", "cat; echo out; echo err >&2; ps -o sid= -p $$"], ENV)
    assert asyncio.run(end_of(handle, folder)) == Exited(0)
    out, err, session = (folder / "log.txt").read_text().split()
    assert (out, err) == ("out", "err")
    assert int(session) == handle.pid != os.getsid(0)


def test_a_second_launch_finds_the_first_process(folder: Path) -> None:
    first = launch(folder, ["sleep", "3600"], ENV)

    async def play() -> None:
        await until((folder / RECORD_FILE).exists, "the record")
        await until(lambda: read_record(folder) == first, "the whole record")
        assert launch(folder, ["false"], ENV) == first
        await terminate(first, folder, 5)

    asyncio.run(play())


def test_launches_at_the_same_time_have_one_effect(folder: Path) -> None:
    file = folder.parent / "effects"
    command = ["sh", "-c", f"echo ran >> {file}; sleep 0.2"]
    with ThreadPoolExecutor(8) as pool:
        handles = list(pool.map(lambda _: launch(folder, command, ENV), range(8)))
    for handle in handles:
        assert asyncio.run(end_of(handle, folder)) == Exited(0)
    assert effects(file) == 1


def test_the_command_goes_on_when_the_engine_is_killed(folder: Path) -> None:
    engine = (
        "import os, sys, pathlib\nfrom calve.steps.process import launch\n"
        f"launch(pathlib.Path({str(folder)!r}), ['sh', '-c', 'sleep 0.5; exit 5'], dict(os.environ))\n"
        "os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", engine], check=False).returncode == -9

    async def adopt() -> Exited | Vanished:
        handle = launch(folder, ["false"], ENV)
        return await end_of(handle, folder)

    assert asyncio.run(adopt()) == Exited(5)


def test_engine_descriptors_and_variables_do_not_reach_the_command(folder: Path, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        handle = launch(folder, ["sh", "-c", "ls -l /proc/$$/fd; env"], ENV)
        assert asyncio.run(end_of(handle, folder)) == Exited(0)
    log = (folder / "log.txt").read_text()
    assert "secret" not in log
    assert "HOME=" not in log


def test_a_handle_survives_json(folder: Path) -> None:
    handle = ProcessHandle.of(os.getpid())
    assert ProcessHandle.from_json(handle.to_json()) == handle
    assert handle.is_alive()


def test_a_recycled_pid_is_not_mistaken_for_the_process(folder: Path) -> None:
    folder.mkdir()
    other = ProcessHandle(this_host(), os.getpid(), "an earlier boot/1")
    assert inspect(other, folder) == Vanished(other)

    async def end_it() -> None:
        await terminate(other, folder, 0)

    asyncio.run(end_it())
    assert psutil.pid_exists(os.getpid())


def test_a_process_of_another_host_is_gone(folder: Path) -> None:
    folder.mkdir()
    here = ProcessHandle.of(os.getpid())
    there = ProcessHandle("elsewhere", here.pid, here.started)
    assert inspect(there, folder) == Vanished(there)


def test_a_record_that_was_cut_off_is_no_process(folder: Path) -> None:
    folder.mkdir()
    (folder / RECORD_FILE).write_text("vm\n12")
    assert launch(folder, ["true"], ENV) == ProcessHandle.nobody()
    assert isinstance(inspect(ProcessHandle.nobody(), folder), Vanished)
    assert not (folder / EXIT_FILE).exists()


def test_an_exit_code_that_was_cut_off_is_none(folder: Path) -> None:
    folder.mkdir()
    (folder / EXIT_FILE).write_text("1")
    assert isinstance(inspect(ProcessHandle.nobody(), folder), Vanished)
    (folder / EXIT_FILE).write_text("13\n")
    assert inspect(ProcessHandle.nobody(), folder) == Exited(13)


def test_nothing_starts_after_it_was_ended(folder: Path) -> None:
    file = folder.parent / "effects"

    async def play() -> None:
        await terminate(ProcessHandle.nobody(), folder, 5)
        handle = launch(folder, ["sh", "-c", f"echo ran >> {file}"], ENV)
        assert isinstance(await end_of(handle, folder), Vanished)

    asyncio.run(play())
    assert effects(file) == 0


def test_sigterm_lets_a_command_clean_up_and_its_code_is_kept(folder: Path) -> None:
    file = folder.parent / "effects"
    script = f"trap 'echo cleaned >> {file}; exit 9' TERM; touch {file}.ready; while :; do sleep 0.05; done"

    async def play() -> Exited | Vanished:
        handle = launch(folder, ["sh", "-c", script], ENV)
        await until(Path(f"{file}.ready").exists, "readiness")
        await terminate(handle, folder, 30)
        return await end_of(handle, folder)

    assert asyncio.run(play()) == Exited(9)
    assert effects(file) == 1


def test_children_that_left_the_session_and_their_parents_are_ended(folder: Path) -> None:
    file = folder.parent / "pid"
    script = f"setsid sh -c 'setsid sleep 3600 & echo $! > {file}' ; sleep 3600"

    async def play() -> None:
        handle = launch(folder, ["sh", "-c", script], ENV)
        await until(lambda: file.exists() and file.read_text().strip(), "the grandchild")
        grandchild = ProcessHandle.of(int(file.read_text()))
        assert grandchild.is_alive()
        await terminate(handle, folder, 5)
        assert not grandchild.is_alive()

    asyncio.run(play())


def test_a_stopped_process_is_ended(folder: Path) -> None:
    async def play() -> Exited | Vanished:
        handle = launch(folder, ["sleep", "3600"], ENV)
        await until(lambda: _commands(handle.pid, "sleep"), "the command")
        for command in _commands(handle.pid, "sleep"):
            command.suspend()
        await terminate(handle, folder, 30)
        return await end_of(handle, folder)

    assert asyncio.run(play()) == Exited(128 + 15)


def test_watching_tells_once_and_closes_its_descriptor(folder: Path) -> None:
    calls: list[str] = []

    async def play() -> None:
        before = _open_descriptors()
        handle = launch(folder, ["sh", "-c", "read x < work-is-done || sleep 0.3"], ENV)
        assert watch_exit(handle, lambda: calls.append("first"))
        assert watch_exit(handle, lambda: calls.append("second"))
        await until(lambda: calls, "the call")
        assert isinstance(inspect(handle, folder), Exited)
        assert _open_descriptors() == before

    asyncio.run(play())
    assert calls == ["second"]


def test_watching_what_is_over_tells_at_once(folder: Path) -> None:
    calls: list[str] = []

    async def play() -> None:
        handle = launch(folder, ["true"], ENV)
        await end_of(handle, folder)
        await until(lambda: not handle.is_alive(), "the runner's end")
        assert watch_exit(handle, lambda: calls.append("told"))
        await until(lambda: calls, "the call")

    asyncio.run(play())


def test_without_pidfd_the_engine_has_to_ask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    async def play() -> None:
        handle = launch(folder, ["sleep", "3600"], ENV)
        assert not watch_exit(handle, lambda: None)
        await terminate(handle, folder, 5)

    asyncio.run(play())


@pytest.mark.parametrize(
    ("argv", "env", "code"),
    [
        (["echo", "x" * 200_000], {}, "STEP_COMMAND_TOO_BIG"),
        (["echo"], {"BIG": "x" * 200_000}, "STEP_COMMAND_TOO_BIG"),
        (["echo"], {f"V{n}": "x" * 100_000 for n in range(20)}, "STEP_COMMAND_TOO_BIG"),
        (["echo", "a\0b"], {}, "STEP_COMMAND_INVALID"),
        (["echo"], {"A=B": "x"}, "STEP_COMMAND_INVALID"),
    ],
)
def test_a_command_that_the_system_would_refuse_is_refused_with_a_reason(
    folder: Path, argv: list[str], env: dict[str, str], code: str
) -> None:
    with pytest.raises(UsageError) as caught:
        launch(folder, argv, env)
    assert caught.value.code == code
    assert read_record(folder) is None


def test_a_working_directory_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        launch(folder, ["true"], ENV, folder / "nowhere")
