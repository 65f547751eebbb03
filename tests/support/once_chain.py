"""capture → write → commit with crashes: the step types' own code on a real ledger and a real Spark.

What an engine and a process of its own would do in between is done here in one process, so that hundreds of
chains can be run; a crash is an exception that nothing catches on its way out of the chain.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from calve.ledger import ledger as ledger_module
from calve.ledger.store import Store
from calve.settings import Settings
from calve.spark.once.notes import Notes
from calve.spark.step.board import Board, NoMeter
from calve.spark.step.failures import StatementError
from calve.spark.step.forms import run_form
from calve.spark.step.spec import StepSpec
from calve.state.clock import now_ms
from calve.steps.contract import Ending, Finished, StepContext
from calve.steps.incremental.capture import IpCapture
from calve.steps.incremental.commit import IpCommit
from calve.steps.incremental.shared import ledger_of
from calve.steps.spark import settle
from calve.steps.sql import Sql
from support.engine_rows import add_run, add_step, push_jobs, set_run, start

WORKFLOW = "chain"
#: In a script: where a job can be made to fail; not at the end of a statement, where comments are cut off.
FRAGILE = "/*fragile*/"
CAPTURE_POINTS = ("capture reserved", "capture taken")
STATEMENT_POINTS = (
    "before begin is noted",
    "after begin is noted",
    "in the job",
    "snapshot landed",
    "landing noted",
)
WRITE_POINTS = ("write planned", *STATEMENT_POINTS, "before the ledger knows", "after the ledger knows")
COMMIT_POINTS = ("before commit", "before tables are dropped", "after commit")
POINTS = (*CAPTURE_POINTS, *WRITE_POINTS, *COMMIT_POINTS)


class CrashError(BaseException):
    """The process is gone."""


@dataclass
class Faults:
    """Crashes at one point, the n-th time that it is passed."""

    point: str | None = None
    countdown: int = 0
    crashed: list[str] = field(default_factory=list)

    def arm(self, point: str, nth: int = 1) -> None:
        self.point, self.countdown = point, nth

    def is_due(self, point: str) -> bool:
        if point != self.point:
            return False
        self.countdown -= 1
        if self.countdown > 0:
            return False
        self.point = None
        self.crashed.append(point)
        return True

    def hit(self, point: str) -> None:
        if self.is_due(point):
            raise CrashError(point)


@dataclass
class FragileSession:
    """A session whose jobs fail, and whose process dies, when a fault says so."""

    spark: Any
    faults: Faults

    def sql(self, text: str) -> Any:
        if FRAGILE in text and self.faults.is_due("in the job"):
            return self.spark.sql(text.replace(FRAGILE, "AND raise_error('the executor is gone') IS NULL"))
        result = self.spark.sql(text)
        if FRAGILE in text:
            self.faults.hit("snapshot landed")
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spark, name)


def install(patch: pytest.MonkeyPatch, faults: Faults) -> None:
    """Put the crash points into the code that has no seam for them."""

    def around(owner: Any, name: str, before: str | None, after: str | None) -> None:
        real: Callable[..., Any] = getattr(owner, name)

        def wrapped(*args: Any, **more: Any) -> Any:
            if before is not None:
                faults.hit(before)
            result = real(*args, **more)
            if after is not None:
                faults.hit(after)
            return result

        patch.setattr(owner, name, wrapped)

    around(Store, "finish", "capture reserved", None)
    around(Notes, "begin", "before begin is noted", "after begin is noted")
    around(Notes, "land", None, "landing noted")
    around(ledger_module, "drop_tables", "before tables are dropped", None)


@dataclass
class Chain:
    """One workflow with the steps capture, write and commit, as an engine would run it."""

    spark: Any
    settings: Settings
    folder: Path
    capture_params: dict[str, Any]
    make_script: Callable[[dict[str, Any]], str]
    faults: Faults = field(default_factory=Faults)
    run: int = 0
    instance_id: int = 0
    run_id: int = 0
    attempts: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.database = ledger_of(self.settings).database
        push_jobs(self.database, WORKFLOW, "capture", "write", "commit")

    def begin(self) -> None:
        """A new instance."""
        started = start(self.database, WORKFLOW)
        self.run, self.instance_id, self.run_id = started.run, started.instance_id, 1
        set_run(self.database, self.run, status="IN_PROGRESS", created_at=now_ms())
        self.attempts, self.outputs = {}, {}

    def give_up(self) -> None:
        """The run has failed."""
        set_run(self.database, self.run, status="FAILED", ended_at=now_ms())

    def restart(self) -> None:
        """A further run of the instance; a capture that was taken is not taken again."""
        earlier = self.run
        set_run(self.database, earlier, status="FAILED", latest=False)
        self.run_id += 1
        self.run = add_run(
            self.database,
            earlier,
            run_id=self.run_id,
            uuid=str(uuid.uuid4()),
            status="IN_PROGRESS",
            latest=True,
            created_at=now_ms(),
        )
        self.attempts = {}
        if self.outputs:
            self._keep("capture", self.artifacts, carried=True)

    def capture(self) -> None:
        finished = asyncio.run(IpCapture().start(self._context("capture", self.capture_params)))
        assert isinstance(finished, Finished)
        assert finished.ending is Ending.DONE, finished.error
        self.faults.hit("capture taken")
        self.outputs, self.artifacts = dict(finished.outputs), dict(finished.artifacts)
        self._keep("capture", self.artifacts)

    def write(self) -> Finished:
        script = self.make_script(self.outputs)
        context = self._context("write", {"script": script})
        plan = Sql().plan_writes(context, script)
        assert plan is not None
        spec = StepSpec(
            attempt=context.attempt_uuid,
            folder=str(context.folder),
            log=str(context.log_file),
            session="embedded",
            script=script,
            search=str(context.folder),
            home=str(self.settings.home),
            once=plan.to_json(),
        )
        written = spec.write()
        self.faults.hit("write planned")
        session = FragileSession(self.spark, self.faults)
        try:
            run_form(StepSpec.read(written), session, Board(context.folder, NoMeter()), self.said.append)
        except StatementError as error:
            # A failed job is not the end of the process: the engine accounts for the attempt.
            if "the executor is gone" not in str(error.__cause__):
                raise
            settle(context, Finished(Ending.USER_ERROR))
            raise CrashError("in the job") from error
        self.faults.hit("before the ledger knows")
        finished = settle(context, Finished.done())
        self.faults.hit("after the ledger knows")
        return finished

    def commit(self) -> Finished:
        self.faults.hit("before commit")
        finished = asyncio.run(IpCommit().start(self._context("commit", {})))
        assert isinstance(finished, Finished)
        assert finished.ending is Ending.DONE, finished.error
        self.faults.hit("after commit")
        set_run(self.database, self.run, status="SUCCEEDED", ended_at=now_ms())
        return finished

    def _keep(self, step_id: str, artifacts: dict[str, Any], **columns: Any) -> None:
        add_step(
            self.database,
            self.run,
            step_id,
            "SUCCEEDED",
            self.attempts.get(step_id, 1),
            artifacts=json.dumps(artifacts),
            **columns,
        )

    def _context(self, step_id: str, params: dict[str, Any]) -> StepContext:
        attempt = self.attempts[step_id] = self.attempts.get(step_id, 0) + 1
        place = self.folder / str(self.instance_id) / str(self.run_id) / step_id / str(attempt)
        return StepContext(
            workflow_id=WORKFLOW,
            instance_id=self.instance_id,
            run_id=self.run_id,
            step_id=step_id,
            attempt_id=attempt,
            run=self.run,
            attempt_uuid=str(uuid.uuid4()),
            params=params,
            workflow_params={},
            own_params=params,
            settings=self.settings,
            place=place,
        )


@contextmanager
def crashing() -> Iterator[list[str]]:
    """A block that may crash; the points at which it did."""
    points: list[str] = []
    try:
        yield points
    except CrashError as crash:
        points.append(str(crash))
