"""What the peers share. It runs in their environment, and imports nothing of Calve."""

from __future__ import annotations

import time
from collections.abc import Callable


def times(action: Callable[[], object], count: int, each: int = 1) -> list[float]:
    """Seconds for each of the things that an action does, after one time to warm up."""
    action()
    found = []
    for _ in range(count):
        start = time.perf_counter()
        action()
        found.append((time.perf_counter() - start) / each)
    return found
