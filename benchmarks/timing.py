"""How long something takes, and on what kind of machine."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

REPEATS = 9
WARM_UPS = 2
_PACKAGES = ("calve", "pyiceberg", "pyarrow", "sqlalchemy", "pydantic", "pyspark")


@dataclass(frozen=True)
class Timing:
    """The times of several runs of the same thing."""

    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def cpu_median(self) -> float:
        """The middle one of this process's own time, whatever else the machine is doing."""
        return statistics.median(self.cpu_seconds)

    def to_json(self) -> dict[str, Any]:
        """The times as they are kept."""
        return {
            "median_ms": round(self.median * 1000, 3),
            "min_ms": round(min(self.seconds) * 1000, 3),
            "max_ms": round(max(self.seconds) * 1000, 3),
            "median_cpu_ms": round(self.cpu_median * 1000, 3),
            "runs": len(self.seconds),
        }


def measure(run: Callable[[int], Any], repeats: int = REPEATS, warm_ups: int = WARM_UPS) -> Timing:
    """Time `run`, which gets a number that is different on each call."""
    for number in range(warm_ups):
        run(-1 - number)
    seconds, cpu_seconds = [], []
    for number in range(repeats):
        start, cpu_start = time.perf_counter(), time.process_time()
        run(number)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    return Timing(tuple(seconds), tuple(cpu_seconds))


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "packages": {name: version(name) for name in _PACKAGES},
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
