"""Engines in processes of their own, which can be killed and stopped like any other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from calve.engine.model.requests import StartRequest
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.orchestrator import Orchestrator
from calve.engine.views.runs import run_summary
from calve.settings import load_settings
from calve.workflow.definition import load_yaml

PATIENCE_S = 60.0
T = TypeVar("T")


class Site:
    """A home with a state, and the engines that work on it."""

    def __init__(self, home: Path, state_url: str | None = None, **environment: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.environment = {"CALVE_HOME": str(home), "CALVE_ENGINE__LEASE": "2s", **environment}
        settings = load_settings(home)
        if state_url is not None:
            self.environment["CALVE_STATE_URL"] = state_url
            settings = settings.model_copy(update={"state_url": state_url})
        self.orchestrator = Orchestrator(settings)
        self._workers: list[Worker] = []

    def worker(self) -> Worker:
        """One more engine, ready for work."""
        worker = Worker(self.environment, self.home)
        self._workers.append(worker)
        return worker

    def push(self, text: str) -> str:
        """Push a workflow; its id."""
        loaded = load_yaml(text, types=self.orchestrator.job_types())
        return self.orchestrator.push(loaded.definition, "tests").workflow_id

    def start(self, workflow_id: str) -> int:
        """Start an instance; its number."""
        return self.orchestrator.start(StartRequest(workflow_id=workflow_id, author="tests")).instance_id

    def summary(self, workflow_id: str, instance_id: int) -> dict[str, Any]:
        """A run with its steps, as the CLI shows it."""
        with self.orchestrator.database.read() as connection:
            return run_summary(connection, workflow_id, instance_id, "latest")

    def until_step(
        self, workflow_id: str, instance_id: int, step_id: str, *statuses: StepStatus
    ) -> dict[str, Any]:
        """Wait until a step has one of these statuses."""

        def look() -> dict[str, Any] | None:
            step = self.summary(workflow_id, instance_id)["steps"].get(step_id)
            return step if step is not None and step["status"] in statuses else None

        return until(look)

    def until_over(self, workflow_id: str, instance_id: int) -> dict[str, Any]:
        """Wait until a run is over."""

        def look() -> dict[str, Any] | None:
            found = self.summary(workflow_id, instance_id)
            return found if RunStatus(found["status"]).is_terminal else None

        return until(look)

    def close(self) -> None:
        """End all engines."""
        for worker in self._workers:
            worker.end()
        self.orchestrator.database.close()


class Worker:
    """`calve worker` in a process of its own."""

    def __init__(self, environment: dict[str, str], home: Path) -> None:
        self._log = (home / "worker.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "calve.cli", "worker", "--json"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._process.stdout is not None
        announced = self._process.stdout.readline()
        assert announced.strip() == "{" or json.loads(announced), announced

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop the process in its tracks, as a machine that swaps or sleeps does."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """End it cleanly, or by force if that takes too long."""
        if self._process.poll() is None:
            self.thaw()
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()


@contextmanager
def site(home: Path, state_url: str | None = None, **environment: str) -> Iterator[Site]:
    """A site for the time of a block."""
    made = Site(home, state_url, **environment)
    try:
        yield made
    finally:
        made.close()


def until(look: Callable[[], T | None], patience_s: float = PATIENCE_S) -> T:
    """What `look` gives as soon as it gives something."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come about in time")
