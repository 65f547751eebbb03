"""Figures of the engine: a time for each of something, told as such or as a rate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.report import Result, Target

CALVE = "Calve"
MILLISECONDS = "ms"


@dataclass(frozen=True)
class Subject:
    """Whose figure it is: an engine on a kind of database that does so many raw commits a second."""

    database: str
    raw_commits_per_s: float
    who: str = CALVE


def figure(
    subject: Subject,
    measure: str,
    case: str,
    seconds_each: Sequence[float],
    unit: str = MILLISECONDS,
    target: Target | None = None,
    **details: Any,
) -> Result:
    """The median of some times for each of something; `measure` is what engines are compared by."""
    median = statistics.median(seconds_each)
    return Result(
        subject.database,
        case if subject.who == CALVE else f"{case}: {subject.who}",
        median * 1000 if unit == MILLISECONDS else 1 / median,
        unit,
        target,
        {
            "who": subject.who,
            "measure": measure,
            "ms_each_median": round(median * 1000, 4),
            "ms_each_p95": round(_p95(seconds_each) * 1000, 4),
            "ms_each_min": round(min(seconds_each) * 1000, 4),
            "runs": len(seconds_each),
            "raw_commits_per_s": round(subject.raw_commits_per_s, 1),
            **details,
        },
    )


def times(action: Callable[[], object], count: int, warm_ups: int = 1, each: int = 1) -> list[float]:
    """How long an action takes, for each of the things that it does."""
    for _ in range(warm_ups):
        action()
    found = []
    for _ in range(count):
        start = time.perf_counter()
        action()
        found.append((time.perf_counter() - start) / each)
    return found


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]
