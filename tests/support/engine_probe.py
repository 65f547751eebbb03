"""A step type whose attempts do what the test says, and end when the test lets them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from calve.steps.contract import Ending, Finished, Handle, Options, Running, SignalToSend, StepContext
from calve.steps.schema import optional, schema
from calve.workflow.params import ParamDefinition, ParamType

#: Long enough that only a wake-up, a cancel or a deadline can be what ended it.
NEVER_S = 600.0


class Gates:
    """Named gates: attempts wait at them until a test opens them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[str] = set()
        self._waiting: dict[str, list[Callable[[], object]]] = {}
        #: How often attempts of a step began, and how often they were cancelled.
        self.starts: Counter[str] = Counter()
        self.cancels: Counter[str] = Counter()

    def open(self, name: str) -> None:
        """Let through all that wait, and all that come later."""
        with self._lock:
            self._open.add(name)
            waiting = self._waiting.pop(name, [])
        for wake in waiting:
            wake()

    def is_open(self, name: str, wake: Callable[[], object]) -> bool:
        """True if the gate is open; otherwise `wake` is called when it opens."""
        with self._lock:
            if name in self._open:
                return True
            self._waiting.setdefault(name, []).append(wake)
            return False

    def reset(self) -> None:
        """Forget everything."""
        with self._lock:
            self._open.clear()
            self._waiting.clear()
            self.starts.clear()
            self.cancels.clear()


GATES = Gates()


class Probe:
    """Waits at `gate`, if one is named, and then ends as `plan` says for this attempt (the last one repeats).

    A plan's word is an `Ending`, or `raise`. `give` is what it outputs, `send` a signal that it sends.
    """

    name: ClassVar[str] = "Probe"
    inline: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        optional("plan", ParamType.STRING_ARRAY, ["DONE"]), optional("gate", ParamType.STRING)
    )
    options: ClassVar[type[Options]] = Options

    async def start(self, context: StepContext) -> Running | Finished:
        """Begin."""
        GATES.starts[context.step_id] += 1
        return self._look(context)

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """Look at the gate."""
        return self._look(context)

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """Nothing is at work outside; waits at the gate `hold`, if one is named, before it is done."""
        GATES.cancels[context.step_id] += 1
        hold = context.params.get("hold")
        loop, opened = asyncio.get_running_loop(), asyncio.Event()
        if hold is not None and not GATES.is_open(hold, lambda: loop.call_soon_threadsafe(opened.set)):
            await opened.wait()

    def _look(self, context: StepContext) -> Running | Finished:
        gate = context.params.get("gate")
        if gate is not None and not GATES.is_open(gate, context.wake):
            return Running({"gate": gate}, poll_after_s=NEVER_S)
        return _end(context)


def _end(context: StepContext) -> Finished:
    plan: list[Any] = context.params["plan"]
    word = plan[min(context.attempt_id, len(plan)) - 1]
    if word == "raise":
        raise RuntimeError("the type broke")
    ending = Ending(word)
    if ending in (Ending.DONE, Ending.SKIP_REST):
        sent = context.params.get("send")
        signals = () if sent is None else (SignalToSend(str(sent), {"at": context.step_id}),)
        return Finished(ending, outputs=context.params.get("give", {}), signals=signals)
    return Finished.failed(ending, "PROBE", f"as planned: {word}")
