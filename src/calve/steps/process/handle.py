"""Which process: a pid is used again by others, so a handle also says when and where it was born."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import psutil

_PROC = Path("/proc")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# What follows the name of the program in /proc/<pid>/stat: the state is first, the start is the 20th.
_STATE_FIELD = 0
_START_FIELD = 19
_DEAD_STATES = frozenset({"Z", "X", "x"})


@dataclass(frozen=True, slots=True)
class ProcessHandle:
    """A process of some host, never mistaken for a later one with the same pid."""

    host: str
    pid: int
    #: On Linux the boot and the clock tick of its start, which no change of the clock moves.
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessHandle:
        """The process that has this pid on this host now; one that is over is never alive again."""
        return cls(this_host(), pid, birth(pid) or "")

    @classmethod
    def nobody(cls) -> ProcessHandle:
        """No process at all: never alive."""
        return cls(this_host(), 0, "")

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The handle that `to_json` wrote."""
        return cls(str(document["host"]), int(document["pid"]), str(document["started"]))

    def to_json(self) -> dict[str, Any]:
        """The handle as plain JSON."""
        return asdict(self)

    @property
    def is_local(self) -> bool:
        """True if the process was started on this host."""
        return self.host == this_host()

    def is_alive(self) -> bool:
        """True if this very process runs on this host."""
        return self.is_local and self.started != "" and birth(self.pid) == self.started


@cache
def this_host() -> str:
    """The name of this host."""
    return socket.gethostname()


def birth(pid: int) -> str | None:
    """When the process with this pid was born; None if there is none or if it is over."""
    if not _BOOT_ID.exists():
        return _birth_elsewhere(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return birth_from_stat(_boot(), stat)


def birth_from_stat(boot: str, stat: str) -> str | None:
    """The same, from the id of the boot and the line that Linux shows of a process."""
    fields = stat.rpartition(")")[2].split()
    if len(fields) <= _START_FIELD or fields[_STATE_FIELD] in _DEAD_STATES:
        return None
    return f"{boot}/{fields[_START_FIELD]}"


@cache
def _boot() -> str:
    return _BOOT_ID.read_text(encoding="ascii").strip()


def _birth_elsewhere(pid: int) -> str | None:
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None
