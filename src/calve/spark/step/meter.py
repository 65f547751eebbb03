"""Jobs, stages, tasks, rows and files of a step, from Spark's own account of them."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, field
from operator import add
from threading import Lock
from typing import Any

from calve.spark.jobs import find_job, job_numbers, stages_of
from calve.spark.scans import Scans, await_scans, scans_of

_SETTLE_MS = 1000
_RUNNING = "RUNNING"
_NANOS_A_MILLI = 1_000_000


@dataclass(frozen=True, slots=True)
class _Counts:
    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    tasks_done: int = 0
    input_rows: int = 0
    output_rows: int = 0
    #: What the scans of Iceberg tables opened; counted when a statement has ended.
    input_files: int = 0
    input_bytes: int = 0
    #: What the tasks took of the processors, in milliseconds.
    cpu_ms: int = 0

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(*map(add, astuple(self), astuple(other)))


@dataclass
class JobMeter:
    """Reads the status store of the JVM; what has ended is read once."""

    gateway: Any
    context: Any
    sql_store: Any
    group: str
    tag: str
    ended: dict[int, _Counts] = field(default_factory=dict)
    #: The SQL executions of the jobs; None for one that was not seen to end yet.
    scans: dict[int, Scans | None] = field(default_factory=dict)
    #: Those that were waited for: an execution that another thread still runs is waited for once.
    awaited: set[int] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)

    def read(self) -> dict[str, Any]:
        """The counts of all jobs of the group or with the tag."""
        with self.lock:
            total = self._jobs()
            return asdict(total + self._scanned()) if total.jobs else {}

    def settle(self) -> None:
        """Spark counts a moment after the fact."""
        from py4j.protocol import Py4JJavaError

        try:
            self.context.listenerBus().waitUntilEmpty(_SETTLE_MS)
        except Py4JJavaError as error:
            if "TimeoutException" not in error.java_exception.getClass().getName():
                raise
        with self.lock:
            self._jobs()
            for execution in {number for number, known in self.scans.items() if known is None} - self.awaited:
                self.scans[execution] = await_scans(self.sql_store, execution, _SETTLE_MS / 1000)
                self.awaited.add(execution)

    def _jobs(self) -> _Counts:
        numbers = job_numbers(self.gateway, self.context, self.group, self.tag) | set(self.ended)
        return sum((self._job(number) for number in sorted(numbers)), _Counts())

    def _job(self, number: int) -> _Counts:
        known = self.ended.get(number)
        if known is not None:
            return known
        job, execution = find_job(self.context, number)
        if execution is not None:
            self.scans.setdefault(execution, None)
        counts = sum(
            (_count(stage) for stage in stages_of(self.context, job)),
            _Counts(jobs=1, tasks=job.numTasks(), tasks_done=job.numCompletedTasks() + job.numSkippedTasks()),
        )
        if str(job.status().toString()) != _RUNNING:
            self.ended[number] = counts
        return counts

    def _scanned(self) -> _Counts:
        for execution, known in self.scans.items():
            if known is None:
                self.scans[execution] = scans_of(self.sql_store, execution)
        total = sum((found for found in self.scans.values() if found is not None), Scans())
        return _Counts(input_files=total.files, input_bytes=total.bytes)


def _count(stage: Any) -> _Counts:
    return _Counts(
        stages=1,
        input_rows=stage.inputRecords(),
        output_rows=stage.outputRecords(),
        cpu_ms=stage.executorCpuTime() // _NANOS_A_MILLI,
    )
