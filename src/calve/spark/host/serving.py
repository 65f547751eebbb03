"""The host's life: start a JVM, say where it listens, tidy up after steps, leave when nobody comes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from calve.errors import CalveError, FailedError
from calve.settings import Settings, SparkSettings
from calve.spark.files import write_json
from calve.spark.host.folder import HostFolder, HostLaunch, HostRecord, tag_of
from calve.spark.host.jvm import HostJvm
from calve.spark.host.locks import acquire, is_held
from calve.spark.host.log_settings import write_log_settings
from calve.spark.java import find_java
from calve.spark.session import start_context

_TICK_S = 0.2
_LOCK_PATIENCE_S = 2.0
_JVM_PATIENCE_S = 10.0
#: A step's thread in the JVM that does not end is interrupted, and at last ended with the whole JVM: it
#: might commit beside the next attempt. All this is less than an engine waits for a step to end.
INTERRUPT_AFTER_S = 5.0
GIVE_UP_AFTER_S = 30.0
_LONGEST_LOG_BYTES = 10 * 1024 * 1024
_OLD_S = 7 * 24 * 3600.0


def run(path: Path) -> int:
    """Serve until it is time to leave; the exit code of the process."""
    folder = HostFolder(path)
    lock = acquire(folder.lock_file, _LOCK_PATIENCE_S)
    if lock is None:
        # Another one serves already.
        return 0
    _end_left_jvm(folder)
    # What a host that was killed has left would lead steps astray.
    folder.record_file.unlink(missing_ok=True)
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())
    _forget_old(folder)
    try:
        host = Host(folder, folder.read_launch(), stopping)
        host.serve()
    except CalveError as error:
        write_json(folder.failure_file, {**error.to_json(), "exit_code": error.exit_code})
        return error.exit_code
    finally:
        folder.record_file.unlink(missing_ok=True)
    return 0


def _end_left_jvm(folder: HostFolder) -> None:
    """See the JVM of a host that was killed out: what it does for steps that are gone must not go on."""
    left = folder.read_record()
    deadline = time.monotonic() + _JVM_PATIENCE_S
    while left is not None and left.jvm_runs() and time.monotonic() < deadline:
        left.kill_jvm()
        time.sleep(_TICK_S)


def _forget_old(folder: HostFolder) -> None:
    """Remove a long log, and what hosts of settings that nobody uses any more have left."""
    if folder.log_file.exists() and folder.log_file.stat().st_size > _LONGEST_LOG_BYTES:
        os.truncate(folder.log_file, 0)
    for path in folder.path.parent.iterdir():
        lock = HostFolder(path).lock_file
        if lock.exists() and time.time() - lock.stat().st_mtime > _OLD_S and not is_held(lock):
            shutil.rmtree(path, ignore_errors=True)


@dataclass
class Host:
    """A JVM and the steps that use it."""

    folder: HostFolder
    launch: HostLaunch
    stopping: threading.Event
    #: Since when a step is gone whose jobs are not.
    leaving: dict[Path, float] = field(default_factory=dict)

    def serve(self) -> None:
        """Start, and go on until it is time to leave; the JVM ends with it."""
        process = self._start()
        try:
            with _explained(self.folder):
                jvm = HostJvm.of_this_process()
                jvm.warm_up()
            # A signal for the context that PySpark handles would cancel the jobs of all steps.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            born = psutil.Process(process.pid).create_time()
            record = HostRecord(os.getpid(), process.pid, jvm.port, jvm.secret, jvm.spark_version, born)
            write_json(self.folder.record_file, asdict(record))
            self._watch(jvm, process, record)
        finally:
            _end_jvm(process)

    def _start(self) -> subprocess.Popen[bytes]:
        settings = Settings(home=Path(self.launch.home), spark=SparkSettings(java_home=self._java_home()))
        conf = write_log_settings(self.folder, dict(self.launch.conf))
        with _explained(self.folder):
            process: subprocess.Popen[bytes] = start_context(find_java(settings), conf, self.folder.log_file)
        return process

    def _java_home(self) -> Path | None:
        return None if self.launch.java_home is None else Path(self.launch.java_home)

    def _watch(self, jvm: HostJvm, process: subprocess.Popen[bytes], record: HostRecord) -> None:
        used = time.monotonic()
        tidy = True
        while process.poll() is None and self.folder.record_file.exists():
            if self._look_after_steps(jvm):
                used = time.monotonic()
                tidy = False
            elif not tidy:
                tidy = self._forget_steps(jvm)
            idle = time.monotonic() - used > self.launch.idle_timeout_s
            if self.stopping.is_set() or (idle and self._may_leave(record)):
                return
            self.stopping.wait(_TICK_S)

    def _look_after_steps(self, jvm: HostJvm) -> bool:
        """Tidy up after steps that are gone; True if any is there or its jobs are."""
        busy = False
        for registration in self.folder.registered():
            if is_held(registration) or not self._clear(jvm, registration):
                busy = True
        return busy

    def _clear(self, jvm: HostJvm, registration: Path) -> bool:
        """Cancel what a step left behind; True once nothing of it runs."""
        since = self.leaving.setdefault(registration, time.monotonic())
        waited = time.monotonic() - since
        attempt, tag = registration.stem, tag_of(registration)
        jvm.cancel_jobs(attempt, tag)
        if jvm.is_busy_for(attempt, tag, interrupt=waited > INTERRUPT_AFTER_S):
            if waited > GIVE_UP_AFTER_S:
                self.stopping.set()
            return False
        registration.unlink(missing_ok=True)
        del self.leaving[registration]
        return True

    def _forget_steps(self, jvm: HostJvm) -> bool:
        """Free what steps have left. What one holds that came since the look around is not touched."""
        left = jvm.foreign_objects()
        if any(self.folder.registered()):
            return False
        jvm.forget(left)
        return True

    def _may_leave(self, record: HostRecord) -> bool:
        """Take the record away, and then look for steps that came before that: they count."""
        self.folder.record_file.unlink(missing_ok=True)
        if not any(self.folder.registered()):
            return True
        write_json(self.folder.record_file, asdict(record))
        return False


@contextmanager
def _explained(folder: HostFolder) -> Iterator[None]:
    """Whatever Spark says at its start becomes an error that a step can show."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        java = getattr(error, "java_exception", None)
        reason = str(error if java is None else java.toString()).strip().splitlines()[0]
        raise FailedError(
            "SPARK_FAILED", f"Spark did not start: {reason}", f"see {folder.log_file}"
        ) from error


def _end_jvm(process: subprocess.Popen[Any]) -> None:
    """The JVM reads its input, and ends with it."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_JVM_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
