"""Being told when a process ends, at once and without a thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass

from calve.steps.process import children
from calve.steps.process.handle import ProcessHandle


@dataclass(slots=True)
class _Watch:
    loop: asyncio.AbstractEventLoop
    descriptor: int
    callback: Callable[[], None]

    def close(self) -> None:
        if not self.loop.is_closed():
            self.loop.remove_reader(self.descriptor)
        os.close(self.descriptor)


_watches: dict[ProcessHandle, _Watch] = {}


def watch_exit(handle: ProcessHandle, callback: Callable[[], None]) -> bool:
    """Call `callback` in the running loop once the process is over; False if it has to be asked instead.

    It need not be a child of this process. Of several watches of one process the newest is told.
    """
    loop = asyncio.get_running_loop()
    _drop_watches_of_closed_loops()
    known = _watches.get(handle)
    if known is not None and known.loop is loop:
        known.callback = callback
        return True
    descriptor = _open(handle.pid)
    if not handle.is_alive():
        # Looked at after opening: what was opened may be another process with the same pid.
        if descriptor is not None:
            os.close(descriptor)
        loop.call_soon(callback)
        return True
    if descriptor is None:
        return False
    _watches[handle] = _Watch(loop, descriptor, callback)
    loop.add_reader(descriptor, _ended, handle)
    return True


def _ended(handle: ProcessHandle) -> None:
    watch = _watches.pop(handle)
    watch.close()
    children.reap(handle.pid)
    watch.callback()


def _open(pid: int) -> int | None:
    open_pidfd = getattr(os, "pidfd_open", None)
    if open_pidfd is None or pid <= 0:
        return None
    try:
        return int(open_pidfd(pid))
    except OSError:
        return None


def _drop_watches_of_closed_loops() -> None:
    for handle, watch in list(_watches.items()):
        if watch.loop.is_closed():
            _watches.pop(handle).close()
