"""The processes that this engine has started: a parent has to collect what is left of them."""

from __future__ import annotations

import subprocess

_children: dict[int, subprocess.Popen[bytes]] = {}


def keep(process: subprocess.Popen[bytes]) -> None:
    """Remember a child until it is over."""
    _children[process.pid] = process


def reap(pid: int) -> None:
    """Let the system forget a child that is over; nothing happens to one that runs or is somebody else's."""
    process = _children.get(pid)
    if process is not None and process.poll() is not None:
        _children.pop(pid, None)


def reap_all() -> None:
    """Do so for all children: those whose end nobody looked at."""
    for pid in list(_children):
        reap(pid)
