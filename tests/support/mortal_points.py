"""Points of a backfill at which an engine dies, as `kill -9` does: each of them once.

A point is passed by the process in which `install` was called. Which ones have been died at is kept in a
file, so that the next engine gets further.
"""

from __future__ import annotations

import os
import signal
import threading
import zlib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from calve.backfill import step
from calve.backfill.records import StageState
from calve.backfill.stages import preparing, publishing, replaying, running, validating
from calve.backfill.stages.work import Work
from calve.backfill.statuses import Phase
from calve.engine.model.statuses import RunStatus
from calve.engine.orchestrator import Orchestrator
from calve.steps.contract import Finished

Function = Callable[..., Any]
#: What is done in between two saves, by the module that does it. One dies after each of it; what is done in
#: a transaction is rolled back with that.
EFFECTS = (
    (preparing, "take_over"),
    (preparing, "hold_consumers"),
    (preparing, "set_property"),
    (preparing, "create_branch"),
    (preparing, "add_chunks"),
    (preparing, "push_chunk_workflow"),
    (Orchestrator, "start_all"),
    (running, "note_instance"),
    (publishing, "hold_consumers"),
    (publishing, "fast_forward"),
    (publishing, "account_for_inputs"),
    (publishing, "drop_branch"),
    (step, "_note_done"),
)


class Points:
    """The points that were died at."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._died = set(read_deaths(file))
        self._here = threading.local()
        self._lock = threading.Lock()

    def enter(self, work: Work) -> Work:
        """From now on this thread is about a stage as it is."""
        self._here.work = work
        return work

    def pass_by(self, what: str, *, at_once: bool = False) -> None:
        """Die here, unless that was done before. The name of the point says in which stage, so that stages
        take their turns; `at_once`: in the first that comes here, as not all do."""
        work: Work | None = getattr(self._here, "work", None)
        if work is None:
            return
        again = " again" if work.state.round > 1 else ""
        point = f"{work.stage.phase}{again}: {what}"
        wanted = 0 if again or at_once else zlib.crc32(point.encode()) % len(work.backfill.plan.stages)
        with self._lock:
            if point in self._died or work.stage.ordinal < wanted:
                return
            with self._file.open("a") as file:
                file.write(f"{point}\n")
                file.flush()
                os.fsync(file.fileno())
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """Put the points into the code of backfills."""
        for owner, name in EFFECTS:
            _wrap(owner, name, self._after(f"after {name.strip('_')}"))
        for module in (preparing, publishing, replaying, validating):
            _wrap(module, "run_job", self._in_jobs)
        _wrap(Work, "save", self._after_saves)
        _wrap(step, "progress", self._in_chunks)
        _wrap(step, "load_work", lambda real: lambda *given, **named: self.enter(real(*given, **named)))
        _wrap(step, "_go", self._at_the_end)

    def _after(self, what: str) -> Callable[[Function], Function]:
        def wrap(real: Function) -> Function:
            def mortal(*given: Any, **named: Any) -> Any:
                result = real(*given, **named)
                self.pass_by(what)
                return result

            return mortal

        return wrap

    def _at_the_end(self, real: Function) -> Function:
        """Die when a stage is over and the engine does not know yet; other steps use the same threads."""

        def go(*given: Any, **named: Any) -> Any:
            outcome = real(*given, **named)
            if isinstance(outcome, Finished):
                self.pass_by("over")
            self._here.work = None
            return outcome

        return go

    def _after_saves(self, real: Function) -> Function:
        def save(work: Work, phase: Any, state: StageState) -> Work:
            changed = [x.name for x in fields(state) if getattr(state, x.name) != getattr(work.state, x.name)]
            left = [x for x in state.targets.values() if x.published_to is None]
            is_half = phase is Phase.PUBLISHING and 0 < len(left) < len(state.targets)
            saved: Work = real(work, phase, state)
            # The phase of the point is that from which it was saved.
            self.enter(work)
            self.pass_by(" ".join([f"after save to {phase}", *changed, *(["half"] if is_half else [])]))
            return self.enter(saved)

        return save

    def _in_jobs(self, real: Function) -> Function:
        def run_job(work: Work, key: str, job: Any) -> Any:
            answer = real(work, key, job)
            done = "asked for" if answer is None else "answered"
            self.pass_by(f"{done} {key.partition('/')[0]}", at_once=True)
            return answer

        return run_job

    def _in_chunks(self, real: Function) -> Function:
        def progress(work: Work) -> Any:
            shown = real(work)
            if shown["phase"] == Phase.RUNNING and shown["chunks"].get(RunStatus.IN_PROGRESS):
                self.pass_by("a chunk is under way")
            return shown

        return progress


def _wrap(owner: Any, name: str, wrap: Callable[[Function], Function]) -> None:
    setattr(owner, name, wrap(getattr(owner, name)))


def read_deaths(file: Path) -> list[str]:
    """The points at which engines died, in their order."""
    return file.read_text().splitlines() if file.exists() else []
