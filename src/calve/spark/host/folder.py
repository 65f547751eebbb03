"""The folder of a host: how it is started, where it listens, and who is attached to it."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from calve.spark.files import read_json, write_json
from calve.spark.host.locks import acquire, is_held

_FINGERPRINT_LENGTH = 12
_REGISTRATION = ".json"
_PING_S = 2.0


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """All that a host is started with. It holds the catalogs' secrets."""

    home: str
    java_home: str | None
    conf: Mapping[str, str]
    idle_timeout_s: float
    python: str = sys.executable

    def fingerprint(self) -> str:
        """Tells hosts apart: steps of other settings get another one."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_FINGERPRINT_LENGTH]


@dataclass(frozen=True, slots=True)
class HostRecord:
    """Where a host listens; who knows the secret may do anything in its JVM."""

    pid: int
    jvm_pid: int
    port: int
    secret: str
    spark_version: str
    #: When the JVM was born, so that it is not mistaken for a later process with its pid.
    jvm_born: float = 0.0

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The record that a host wrote."""
        return cls(**document)

    def answers(self) -> bool:
        """True if somebody listens there."""
        try:
            socket.create_connection(("127.0.0.1", self.port), _PING_S).close()
        except OSError:
            return False
        return True

    def jvm_runs(self) -> bool:
        """True if the JVM is there, whether or not its host is."""
        return _process(self.jvm_pid, self.jvm_born) is not None

    def kill_jvm(self) -> None:
        """End the JVM by force, if it is there."""
        import psutil

        process = _process(self.jvm_pid, self.jvm_born)
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _process(pid: int, born: float) -> Any:
    """The process of a pid, if it is the one that was born then; None if that one is over."""
    import psutil

    try:
        process = psutil.Process(pid)
        same = process.create_time() == born and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if same else None


@dataclass(frozen=True, slots=True)
class HostFolder:
    """The files of one host."""

    path: Path

    @classmethod
    def of(cls, home: Path, launch: HostLaunch) -> Self:
        """The folder of the host with these settings."""
        return cls(hosts_folder(home) / launch.fingerprint())

    @property
    def record_file(self) -> Path:
        """There while steps may attach."""
        return self.path / "host.json"

    @property
    def lock_file(self) -> Path:
        """Held by the host while it lives; its pid is in it."""
        return self.path / "host.lock"

    @property
    def launch_file(self) -> Path:
        """What the host is started with."""
        return self.path / "launch.json"

    @property
    def failure_file(self) -> Path:
        """Why the last start failed."""
        return self.path / "failure.json"

    @property
    def log_file(self) -> Path:
        """The output of the host and of its JVM."""
        return self.path / "host.log"

    @property
    def steps(self) -> Path:
        """A file for each attached step."""
        return self.path / "steps"

    def prepare(self, launch: HostLaunch) -> None:
        """Make the folder, for its owner only."""
        self.steps.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        if read_json(self.launch_file) != asdict(launch):
            write_json(self.launch_file, asdict(launch))

    def read_launch(self) -> HostLaunch:
        """The settings of the host. Raises `FileNotFoundError` if they were taken away."""
        return HostLaunch(**json.loads(self.launch_file.read_bytes()))

    def read_record(self) -> HostRecord | None:
        """Where the host listens; None if none does."""
        document = read_json(self.record_file)
        return None if document is None else HostRecord.from_json(document)

    def is_alive(self) -> bool:
        """True if a host runs, or is about to."""
        return is_held(self.lock_file)

    def has_ended(self) -> bool:
        """True if neither a host nor a JVM that a killed host has left runs; such a JVM is ended by force.

        It would end by itself, and might commit what a step left in it while it does.
        """
        if self.is_alive():
            return False
        record = self.read_record()
        if record is None or not record.jvm_runs():
            return True
        record.kill_jvm()
        return False

    def registration_file(self, attempt: str) -> Path:
        """There while a step is attached, and until its jobs are gone."""
        return self.steps / (attempt + _REGISTRATION)

    def registered(self) -> Iterator[Path]:
        """The registrations of all steps."""
        return self.steps.glob("[!.]*" + _REGISTRATION)


def hosts_folder(home: Path) -> Path:
    """Where the hosts of a home have their folders."""
    return home / "spark" / "hosts"


@dataclass(frozen=True, slots=True)
class Registration:
    """A step's claim on the host. It holds while the process lives; the host tidies up after it."""

    file: Path
    descriptor: int

    @classmethod
    def make(cls, folder: HostFolder, attempt: str) -> Self:
        """Register a step. The file is held before the host can see it."""
        file = folder.registration_file(attempt)
        draft = file.with_name("." + file.name)
        descriptor = acquire(draft)
        if descriptor is None:
            raise BlockingIOError(f"{draft} is held by another process")
        draft.replace(file)
        return cls(file, descriptor)

    def name_tag(self, tag: str) -> None:
        """Let the host know by which tag the jobs of this step are found."""
        os.pwrite(self.descriptor, json.dumps({"tag": tag}).encode(), 0)

    def drop(self) -> None:
        """Nothing of the step is left in the host."""
        self.file.unlink(missing_ok=True)
        os.close(self.descriptor)


def tag_of(file: Path) -> str | None:
    """The tag of a registration's jobs; None if the step came to an end before it had one."""
    document = read_json(file)
    return None if document is None else document["tag"]
