"""What is due when: a heap on the monotonic clock, so that a jump of the wall clock moves nothing."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Iterator

from calve.engine.core.messages import Message
from calve.state.clock import now_ms


class Timers:
    """Messages that wait for their time. A message that is no longer wanted is harmless when it comes."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Message]] = []
        self._count = itertools.count()

    def after(self, delay_s: float, message: Message) -> None:
        """Deliver a message some seconds from now."""
        heapq.heappush(self._heap, (time.monotonic() + max(0.0, delay_s), next(self._count), message))

    def at(self, due_ms: int, message: Message) -> None:
        """Deliver a message at a time of the wall clock, as it stands now."""
        self.after((due_ms - now_ms()) / 1000, message)

    def delay_s(self) -> float | None:
        """How long nothing is due; None if nothing ever is."""
        return None if not self._heap else max(0.0, self._heap[0][0] - time.monotonic())

    def due(self) -> Iterator[Message]:
        """What is due now."""
        moment = time.monotonic()
        while self._heap and self._heap[0][0] <= moment:
            yield heapq.heappop(self._heap)[2]

    def clear(self) -> None:
        """Forget everything."""
        self._heap.clear()
