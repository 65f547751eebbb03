"""Jobs, stages, tasks and rows of a step, from Spark's own account of them."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, field
from operator import add
from typing import Any

from calve.spark.jobs import job_numbers, stages_of

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
    #: What the tasks took of the processors, in milliseconds.
    cpu_ms: int = 0

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(*map(add, astuple(self), astuple(other)))


@dataclass
class JobMeter:
    """Reads the status store of the JVM; what has ended is read once."""

    gateway: Any
    context: Any
    group: str
    tag: str
    ended: dict[int, _Counts] = field(default_factory=dict)

    def read(self) -> dict[str, Any]:
        """The counts of all jobs of the group or with the tag."""
        numbers = job_numbers(self.gateway, self.context, self.group, self.tag) | set(self.ended)
        total = sum((self._job(number) for number in sorted(numbers)), _Counts())
        return asdict(total) if total.jobs else {}

    def settle(self) -> None:
        """Spark counts a moment after the fact."""
        from py4j.protocol import Py4JJavaError

        try:
            self.context.listenerBus().waitUntilEmpty(_SETTLE_MS)
        except Py4JJavaError as error:
            if "TimeoutException" not in error.java_exception.getClass().getName():
                raise

    def _job(self, number: int) -> _Counts:
        known = self.ended.get(number)
        if known is not None:
            return known
        job = self.context.statusStore().job(number)
        counts = sum(
            (_count(stage) for stage in stages_of(self.context, job)),
            _Counts(jobs=1, tasks=job.numTasks(), tasks_done=job.numCompletedTasks() + job.numSkippedTasks()),
        )
        if str(job.status().toString()) != _RUNNING:
            self.ended[number] = counts
        return counts


def _count(stage: Any) -> _Counts:
    return _Counts(
        stages=1,
        input_rows=stage.inputRecords(),
        output_rows=stage.outputRecords(),
        cpu_ms=stage.executorCpuTime() // _NANOS_A_MILLI,
    )
