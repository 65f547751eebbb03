"""What statements cost, by Spark's own account: task CPU, CPU of the whole JVM, wall time, rows and files."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import psutil

from calve.spark.jobs import job_numbers, stages_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTLE_MS = 10_000
_NANOS = 1e9
#: What Iceberg calls the files of a scan in Spark's metrics.
_FILE_BYTES = "total data file size (bytes)"
_FILES = "number of result data files"
_groups = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Cost:
    """What something cost. Costs can be added; bytes are those of the data files that scans opened."""

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
        before, executions = self._jvm_seconds(), self._executions()
        start = time.perf_counter()
        for statement in statements:
            self._spark.sql(statement).collect()
        wall = time.perf_counter() - start
        jvm = self._jvm_seconds() - before
        self._context.listenerBus().waitUntilEmpty(_SETTLE_MS)
        tasks = self._tasks(group)
        files, file_bytes = self._scans(executions)
        return tasks + Cost(
            jvm_cpu_seconds=jvm, wall_seconds=wall, files_read=files, file_bytes_read=file_bytes
        )

    def _jvm_seconds(self) -> float:
        times = self._jvm.cpu_times()
        return float(times.user + times.system)

    def _tasks(self, group: str) -> Cost:
        store = self._context.statusStore()
        stages: dict[int, Any] = {}
        for number in job_numbers(self._gateway, self._context, group, None):
            for stage in stages_of(self._context, store.job(number)):
                stages[stage.stageId()] = stage
        return total(
            [
                Cost(
                    task_cpu_seconds=stage.executorCpuTime() / _NANOS,
                    rows_read=stage.inputRecords(),
                    shuffle_bytes=stage.shuffleWriteBytes(),
                    rows_written=stage.outputRecords(),
                )
                for stage in stages.values()
            ]
        )

    # Iceberg's scans, from the metrics of the SQL executions

    def _executions(self) -> int:
        return int(self._sql_store().executionsCount())

    def _sql_store(self) -> Any:
        session: Any = self._spark
        return session._jsparkSession.sharedState().statusStore()

    def _scans(self, known: int) -> tuple[int, int]:
        """Files and bytes of the scans of all executions since there were `known`."""
        store = self._sql_store()
        found = {_FILES: 0, _FILE_BYTES: 0}
        listed = store.executionsList(known, max(int(store.executionsCount()) - known, 0))
        for execution in _each(listed):
            number = execution.executionId()
            values = store.executionMetrics(number)
            for node in _each(store.planGraph(number).allNodes()):
                for metric in _each(node.metrics()):
                    if metric.name() in found:
                        value = values.get(metric.accumulatorId())
                        found[metric.name()] += _number(value.get()) if value.isDefined() else 0
        return found[_FILES], found[_FILE_BYTES]


def _each(sequence: Any) -> Iterator[Any]:
    for index in range(sequence.size()):
        yield sequence.apply(index)


def _number(text: str) -> int:
    digits = text.replace(",", "")
    return int(digits) if digits.isdigit() else 0
