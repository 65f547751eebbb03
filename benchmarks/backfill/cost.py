"""What a backfill took: by the accounts of its steps, and by the processes that did it."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from operator import add
from typing import Any

import psutil
from sqlalchemy import Connection, select

from calve.backfill.definitions import JOB_PARAM
from calve.backfill.records import Backfill
from calve.state.orchestration import runs, steps

CHUNKS = "chunks"
_MS = 1000


@dataclass(frozen=True, slots=True)
class Work:
    """What Spark steps did; bytes are those of the files that their scans opened."""

    steps: int = 0
    task_cpu_seconds: float = 0.0
    step_seconds: float = 0.0
    rows: int = 0
    files: int = 0
    bytes: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(*(add(getattr(self, name), getattr(other, name)) for name in _WORK))

    def to_json(self) -> dict[str, float]:
        """The figures by name."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


_WORK = tuple(field.name for field in fields(Work))


@dataclass(frozen=True, slots=True)
class Load:
    """Processor time so far: of the JVM, of this process with its engine, of the steps' own processes."""

    jvm: float
    engine: float
    steps: float

    @classmethod
    def now(cls, jvm: psutil.Process | None) -> Load:
        """As it is now."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        times = None if jvm is None else jvm.cpu_times()
        return cls(
            0.0 if times is None else times.user + times.system,
            time.process_time(),
            children.ru_utime + children.ru_stime,
        )

    def __sub__(self, other: Load) -> Load:
        return Load(self.jvm - other.jvm, self.engine - other.engine, self.steps - other.steps)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one backfill, or what does the same, took."""

    wall_seconds: float
    load: Load
    #: `chunks`, and the jobs that a backfill has besides: `clear`, `compare`, `rebase`.
    work: Mapping[str, Work]
    chunks: int
    #: Runs of chunks that were repeated, because another one was writing.
    runs_again: int = 0

    @property
    def total(self) -> Work:
        """The work of all steps."""
        return sum(self.work.values(), Work())

    @property
    def task_cpu_seconds(self) -> float:
        """The processor time of all tasks: what a cluster would be paid for."""
        return self.total.task_cpu_seconds

    @property
    def cpu_seconds(self) -> float:
        """The processor time of all processes."""
        return self.load.jvm + self.load.engine + self.load.steps

    def to_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "wall_seconds": round(self.wall_seconds, 2),
            "cpu_seconds": {name: round(value, 2) for name, value in asdict(self.load).items()},
            "chunks": self.chunks,
            "runs_again": self.runs_again,
            "total": self.total.to_json(),
            "by_part": {name: found.to_json() for name, found in sorted(self.work.items())},
        }


def work_of(connection: Connection, backfill: Backfill) -> tuple[dict[str, Work], int]:
    """The work of a backfill by its parts, failed attempts included, and how many runs were further ones."""
    query = (
        select(
            runs.c.workflow_id,
            runs.c.run_id,
            runs.c.params.label("given"),
            steps.c.artifacts,
            steps.c.started_at,
            steps.c.ended_at,
        )
        .join(steps, steps.c.run == runs.c.id)
        .where(runs.c.workflow_id.startswith(f"{backfill.driver}."), ~steps.c.carried)
    )
    found: dict[str, Work] = {}
    again: set[tuple[str, int]] = set()
    for row in connection.execute(query):
        if row.run_id > 1:
            again.add((row.workflow_id, row.run_id))
        counts = (json.loads(row.artifacts) if row.artifacts else {}).get("spark")
        if counts is not None and row.ended_at is not None:
            is_job = row.workflow_id == backfill.jobs_workflow
            part = _action(row.given) if is_job else CHUNKS
            found[part] = found.get(part, Work()) + counted(counts, row.ended_at - row.started_at)
    return found, len(again)


def counted(counts: Mapping[str, Any], took_ms: int) -> Work:
    """What a step says of its work."""
    return Work(
        1,
        counts.get("cpu_ms", 0) / _MS,
        took_ms / _MS,
        counts.get("input_rows", 0),
        counts.get("input_files", 0),
        counts.get("input_bytes", 0),
    )


def _action(params: str) -> str:
    job: str = json.loads(json.loads(params)[JOB_PARAM]["value"])["action"]
    return job


def timed(run: Callable[[], None], jvm: psutil.Process | None) -> tuple[float, Load]:
    """How long something takes, and the processor time that it takes."""
    before, start = Load.now(jvm), time.perf_counter()
    run()
    return time.perf_counter() - start, Load.now(jvm) - before
