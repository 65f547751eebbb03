"""Attempts of Spark steps, driven as the engine drives them."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calve.settings import Settings
from calve.steps.contract import Finished, Handle, Running, StepContext
from calve.steps.spark import Spark

PATIENCE_S = 120.0
_LOOK_EVERY_S = 0.05


@dataclass
class Attempt:
    """One attempt of a step; every call is one of the engine's."""

    context: StepContext
    type_: Spark
    handle: Handle = field(default_factory=dict)
    progress: Mapping[str, Any] = field(default_factory=dict)

    def start(self) -> Finished | None:
        return self._take(asyncio.run(self.type_.start(self.context)))

    def poll(self) -> Finished | None:
        return self._take(asyncio.run(self.type_.poll(self.context, self.handle)))

    def cancel(self) -> None:
        asyncio.run(self.type_.cancel(self.context, self.handle))

    def run(self) -> Finished:
        return self.start() or self.wait()

    def wait(self) -> Finished:
        found: list[Finished] = []

        def ended() -> bool:
            outcome = self.poll()
            if outcome is not None:
                found.append(outcome)
            return bool(found)

        eventually(ended, self.log)
        return found[0]

    def wait_for_jobs(self) -> None:
        """Until Spark works on it."""

        def working() -> bool:
            outcome = self.poll()
            assert outcome is None, outcome
            return bool(self.progress.get("jobs")) and self.progress["tasks_done"] < self.progress["tasks"]

        eventually(working, self.log)

    def log(self) -> str:
        return self.context.log_file.read_text(encoding="utf-8", errors="replace")

    @property
    def pid(self) -> int:
        return int(self.handle["pid"])

    def _take(self, outcome: Running | Finished) -> Finished | None:
        if isinstance(outcome, Finished):
            self.handle = {}
            return outcome
        self.handle = outcome.handle
        self.progress = outcome.progress or self.progress
        return None


def attempt(settings: Settings, type_: Spark, place: Path, **params: Any) -> Attempt:
    """An attempt that has not begun."""
    name = str(uuid.uuid4())
    context = StepContext(
        workflow_id="workflow",
        instance_id=1,
        run_id=1,
        step_id="step",
        attempt_id=1,
        attempt_uuid=name,
        params=params,
        workflow_params={},
        own_params=params,
        settings=settings,
        place=place / name,
    )
    return Attempt(context, type_)


def eventually(holds: Callable[[], bool], explain: Callable[[], str] = str) -> None:
    """Look until something holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, explain()
        time.sleep(_LOOK_EVERY_S)
