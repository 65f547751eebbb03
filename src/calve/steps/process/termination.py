"""Ending a command with everything that it started."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from calve.errors import FailedError
from calve.steps.process import children
from calve.steps.process.handle import ProcessHandle
from calve.steps.process.launching import FOLDER_VARIABLE
from calve.steps.process.wrapper import forbid_start, read_record

_LOOK_EVERY_S = 0.02
_SEARCH_EVERY_S = 0.25
#: A process that does not go this long after SIGKILL hangs in the kernel.
FORCE_S = 30.0


async def terminate(handle: ProcessHandle, folder: Path, grace_s: float) -> None:
    """End the folder's command: SIGTERM to all of it, and SIGKILL to what is left after `grace_s`.

    When this returns nothing of it runs on this host, and nothing of it will begin.
    """
    place = folder.absolute()
    await asyncio.to_thread(forbid_start, place)
    if await _end_by(signal.SIGTERM, handle, place, grace_s):
        return
    if not await _end_by(signal.SIGKILL, handle, place, FORCE_S):
        raise FailedError(
            "STEP_NOT_ENDED",
            f"process {handle.pid} does not end, not even by force",
            "look at it on its host; it most likely waits for a disk or a network file system",
        )


async def _end_by(signal_: signal.Signals, handle: ProcessHandle, folder: Path, limit_s: float) -> bool:
    """Send a signal, to newcomers too, until nothing runs; False if something does at the limit."""
    deadline = time.monotonic() + limit_s
    told: set[tuple[psutil.Process, str]] = set()
    while family := await asyncio.to_thread(find_family, handle, folder):
        if time.monotonic() >= deadline:
            return False
        # Told again is who has become another program since: a shell that was about to run a command took
        # the signal for itself, and the command never heard of it.
        programs = {(process, _program(process)) for process in family}
        _send(signal_, {process for process, _ in programs - told})
        told |= programs
        look_again = min(deadline, time.monotonic() + _SEARCH_EVERY_S)
        while any(map(_runs, family)) and time.monotonic() < look_again:
            await asyncio.sleep(_LOOK_EVERY_S)
    return True


def find_family(handle: ProcessHandle, folder: Path) -> set[psutil.Process]:
    """All processes of a folder's command that run on this host, also those that left its session."""
    found: set[psutil.Process] = set()
    for root in {handle, read_record(folder) or handle}:
        if root.is_alive():
            found |= _tree(root.pid)
    mark = str(folder)
    for process in psutil.process_iter():
        if process.pid != os.getpid() and process not in found and _mark_of(process) == mark:
            found |= _tree(process.pid)
    return {process for process in found if process.pid != os.getpid() and _runs(process)}


def _tree(pid: int) -> set[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return {process, *process.children(recursive=True)}
    except psutil.Error:
        return set()


def _mark_of(process: psutil.Process) -> str | None:
    """The folder that a process works for; those of other users do not tell, and are not ours."""
    try:
        found: str | None = process.environ().get(FOLDER_VARIABLE)
    except (psutil.Error, OSError):
        return None
    return found


def _program(process: psutil.Process) -> str:
    try:
        return "\0".join(process.cmdline())
    except (psutil.Error, OSError):
        return ""


def _runs(process: psutil.Process) -> bool:
    children.reap(process.pid)
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _send(signal_: signal.Signals, processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        try:
            process.send_signal(signal_)
            if signal_ is signal.SIGTERM:
                # A stopped process would not hear of it.
                process.send_signal(signal.SIGCONT)
        except psutil.Error:
            continue
