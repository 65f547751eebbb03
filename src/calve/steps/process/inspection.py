"""How the process of a folder stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calve.steps.process import children
from calve.steps.process.handle import ProcessHandle
from calve.steps.process.wrapper import read_exit_code, read_record


@dataclass(frozen=True, slots=True)
class Alive:
    """It runs, in this process: not the one that was asked for if two engines had started it."""

    handle: ProcessHandle


@dataclass(frozen=True, slots=True)
class Exited:
    """It is over, and this is its exit code: 128 and more is a signal, as in a shell."""

    code: int


@dataclass(frozen=True, slots=True)
class Vanished:
    """It is gone without an exit code: killed by force, lost with its machine, or on another host."""

    handle: ProcessHandle


ProcessState = Alive | Exited | Vanished


def inspect(handle: ProcessHandle, folder: Path) -> ProcessState:
    """How the command stands that was launched in this folder."""
    code = read_exit_code(folder)
    if code is not None:
        children.reap(handle.pid)
        return Exited(code)
    current = handle
    if handle.is_alive() or (current := read_record(folder) or handle).is_alive():
        return Alive(current)
    children.reap(handle.pid)
    # It may have ended between the first look and the second.
    code = read_exit_code(folder)
    return Vanished(current) if code is None else Exited(code)
