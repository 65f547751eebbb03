"""Ending the hosts of a home."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from calve.errors import FailedError
from calve.spark.host.folder import HostFolder, hosts_folder

if TYPE_CHECKING:
    from calve.settings import Settings

_GENTLE_S = 20.0
_FORCED_S = 20.0
_LOOK_EVERY_S = 0.05


def stop(settings: Settings) -> None:
    """End every host of this home with its JVM; steps that are attached fail. Nothing is left running.

    Raises `FailedError` SPARK_NOT_STOPPED.
    """
    folders = [HostFolder(path) for path in sorted(hosts_folder(settings.home).glob("*"))]
    for folder in folders:
        _end(folder)


def _end(folder: HostFolder) -> None:
    record = folder.read_record()
    for signal_, patience_s in ((signal.SIGTERM, _GENTLE_S), (signal.SIGKILL, _FORCED_S)):
        if not folder.is_alive():
            break
        # A host holds its lock as long as it lives, so the pid is its own.
        _send(signal_, _pid(folder.lock_file))
        _wait_until_gone(folder, patience_s)
    if folder.is_alive():
        raise FailedError(
            "SPARK_NOT_STOPPED",
            f"the embedded Spark in {folder.path} does not end",
            f"end the process that {folder.lock_file} names by hand",
        )
    if record is not None:
        _wait_for_jvm(record.jvm_pid)


def _pid(file: Path) -> int:
    text = file.read_text(encoding="ascii").strip()
    return int(text) if text else 0


def _send(signal_: signal.Signals, pid: int) -> None:
    if pid > 0:
        with suppress(ProcessLookupError):
            os.kill(pid, signal_)


def _wait_until_gone(folder: HostFolder, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while folder.is_alive() and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_S)


def _wait_for_jvm(pid: int) -> None:
    """A JVM ends by itself when its host is gone."""
    deadline = time.monotonic() + _GENTLE_S
    while _exists(pid) and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_S)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # Somebody else's process that came later.
        return False
    return True
