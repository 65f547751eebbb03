"""The way of a step to its host: find it, or start it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from calve.errors import CalveError, FailedError, UnreachableError, UsageError
from calve.spark.files import read_json
from calve.spark.host.folder import HostFolder, HostRecord, Registration
from calve.spark.host.preparing import prepare_host
from calve.spark.packages import announce_download

if TYPE_CHECKING:
    from calve.settings import Settings

_LOOK_EVERY_S = 0.05
#: From the start of a host to its lock: a Python has to come up.
_LOCK_S = 20.0
_STARTS = 3
# What a step is and what it is given: a host serves others too, and must not be ended with the step.
_OF_THE_STEP = ("CALVE_", "MAESTRO_")
_ERRORS: dict[int, type[CalveError]] = {1: FailedError, 2: UsageError, 3: UnreachableError}


def connect(folder: HostFolder, attempt: str, say: Callable[[str], None]) -> tuple[HostRecord, Registration]:
    """Register with the host of a folder, started if none runs; waits until it listens.

    Raises what its start raised, or `FailedError` SPARK_FAILED.
    """
    seen = False
    for start in range(_STARTS + 1):
        while folder.is_alive():
            seen = True
            connected = _register(folder, attempt)
            if connected is not None:
                return connected
            time.sleep(_LOOK_EVERY_S)
        if seen or start:
            _raise_failure(folder)
        if start < _STARTS:
            _announce(folder, say)
            _start(folder)
    raise FailedError("SPARK_FAILED", "Spark ends as soon as it is started", f"see {folder.log_file}")


def _announce(folder: HostFolder, say: Callable[[str], None]) -> None:
    say("starting Spark …")
    announce_download(dict(folder.read_launch().conf))


def _register(folder: HostFolder, attempt: str) -> tuple[HostRecord, Registration] | None:
    """Register, and look again: a host that is about to leave takes its record away first."""
    record = folder.read_record()
    if record is None or not record.answers():
        return None
    registration = Registration.make(folder, attempt)
    if folder.read_record() == record:
        return record, registration
    registration.drop()
    return None


def start(settings: Settings) -> None:
    """See to it that a host runs, or is about to: the first step then finds it warm. Does not wait."""
    folder = prepare_host(settings)
    if not folder.is_alive():
        _start(folder)


def _start(folder: HostFolder) -> None:
    folder.failure_file.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OF_THE_STEP)}
    with folder.log_file.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "calve.spark.host", str(folder.path)],
            env=environment,
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    # It leaves at once, with a child that is nobody's: what ends a step's family does not end the host.
    process.wait()
    deadline = time.monotonic() + _LOCK_S
    while not folder.is_alive() and not folder.failure_file.exists() and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_S)


def _raise_failure(folder: HostFolder) -> None:
    failure = read_json(folder.failure_file)
    if failure is not None:
        folder.failure_file.unlink(missing_ok=True)
        error = _ERRORS[failure["exit_code"]]
        raise error(failure["code"], failure["message"], failure["remedy"])
