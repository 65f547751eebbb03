"""What Iceberg's scans opened, by the metrics of the SQL executions that had them.

The bytes that Spark counts for a stage are those that its own threads read; Iceberg reads in others as well.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

#: Iceberg's metrics of the files of a scan, and of those of the deletes that apply to them. They go by their
#: types: a commit tells the size of the whole table that it made, under the name that scans have for theirs.
_FILES = ("ResultDataFiles", "ResultDeleteFiles")
_BYTES = ("TotalDataFileSize", "TotalDeleteFileSize")
_METRIC = re.compile(r"^SQLPlanMetric\(.+,(\d+),v2Custom_[\w.$]*\.(\w+)\)$", re.MULTILINE)
_LOOK_S = 0.01
_VALUE = re.compile(r"^(\d+) -> ([\d,]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scans:
    """Files that scans opened, and the size of all of each. Can be added."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Scans) -> Scans:
        return Scans(self.files + other.files, self.bytes + other.bytes)


def sql_store(spark: Any) -> Any:
    """Where the JVM of a session keeps its SQL executions."""
    return spark._jsparkSession.sharedState().statusStore()


def scans_of(store: Any, execution: int) -> Scans | None:
    """What the scans of an execution opened; None until Spark says that it has ended.

    Metrics come over as one text each: a call for every one of them would cost more than many a statement.
    """
    found = store.execution(execution)
    # Jobs are known a moment before the execution that began them is.
    if not found.isDefined() or not found.get().completionTime().isDefined():
        return None
    data = found.get()
    types = read_metrics(str(data.metrics().mkString("\n")))
    return add_up(types, str(store.executionMetrics(execution).mkString("\n"))) if types else Scans()


def await_scans(store: Any, execution: int, seconds: float) -> Scans | None:
    """The same for an execution that is over: Spark adds its metrics up a moment after its events."""
    deadline = time.monotonic() + seconds
    while (found := scans_of(store, execution)) is None and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    return found


def read_metrics(listed: str) -> dict[int, str]:
    """The types of the metrics that count files or their bytes, each once, by the number of its sum."""
    known = _FILES + _BYTES
    return {int(number): kind for number, kind in _METRIC.findall(listed) if kind in known}


def add_up(types: dict[int, str], values: str) -> Scans:
    """What the metrics came to together; one that was never counted is nothing."""
    counted = {int(number): int(value.replace(",", "")) for number, value in _VALUE.findall(values)}
    return Scans(
        sum(counted.get(number, 0) for number, kind in types.items() if kind in _FILES),
        sum(counted.get(number, 0) for number, kind in types.items() if kind in _BYTES),
    )
