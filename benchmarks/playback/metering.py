"""What statements cost, by Spark's own account: task CPU, CPU of the whole JVM, wall time, rows and files."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import psutil

from calve.spark.jobs import find_job, job_numbers, stages_of
from calve.spark.scans import await_scans, sql_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTLE_MS = 10_000
_NANOS = 1e9
_groups = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Cost:
    """What something cost. Costs can be added; bytes are those of the files that scans opened."""

    task_cpu_seconds: float = 0.0
    jvm_cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    rows_read: int = 0
    files_read: int = 0
    file_bytes_read: int = 0
    shuffle_bytes: int = 0
    rows_written: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, name) + getattr(other, name) for name in _NAMES))

    def __truediv__(self, number: int) -> Cost:
        return Cost(*(getattr(self, name) / number for name in _NAMES))

    def to_json(self) -> dict[str, float]:
        """The figures by name."""
        return {name: round(getattr(self, name), 3) for name in _NAMES}


_NAMES = tuple(field.name for field in fields(Cost))


def total(costs: Sequence[Cost]) -> Cost:
    """The sum of costs."""
    return sum(costs, Cost())


class Meter:
    """Runs statements one after the other and says what each cost."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        context: Any = spark.sparkContext
        self._gateway: Any = context._gateway
        self._context: Any = context._jsc.sc()
        self._jvm = psutil.Process(int(self._gateway.jvm.java.lang.ProcessHandle.current().pid()))

    def run(self, *statements: str) -> Cost:
        """Run the statements, and give what they cost together."""
        group = f"calve-meter-{next(_groups)}"
        self._spark.sparkContext.setJobGroup(group, group)
        before = self._jvm_seconds()
        start = time.perf_counter()
        for statement in statements:
            self._spark.sql(statement).collect()
        wall = time.perf_counter() - start
        jvm = self._jvm_seconds() - before
        self._context.listenerBus().waitUntilEmpty(_SETTLE_MS)
        return self._work(group) + Cost(jvm_cpu_seconds=jvm, wall_seconds=wall)

    def _jvm_seconds(self) -> float:
        times = self._jvm.cpu_times()
        return float(times.user + times.system)

    def _work(self, group: str) -> Cost:
        stages: dict[int, Any] = {}
        executions: set[int] = set()
        for number in job_numbers(self._gateway, self._context, group, None):
            job, execution = find_job(self._context, number)
            stages |= {stage.stageId(): stage for stage in stages_of(self._context, job)}
            executions |= set() if execution is None else {execution}
        return total([self._tasks(stages.values()), *map(self._scanned, executions)])

    def _scanned(self, execution: int) -> Cost:
        found = await_scans(sql_store(self._spark), execution, _SETTLE_MS / 1000)
        return Cost() if found is None else Cost(files_read=found.files, file_bytes_read=found.bytes)

    @staticmethod
    def _tasks(stages: Iterable[Any]) -> Cost:
        return total(
            [
                Cost(
                    task_cpu_seconds=stage.executorCpuTime() / _NANOS,
                    rows_read=stage.inputRecords(),
                    shuffle_bytes=stage.shuffleWriteBytes(),
                    rows_written=stage.outputRecords(),
                )
                for stage in stages
            ]
        )
