"""The progress of a step, kept in a file that the engine reads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Protocol

from calve.spark.files import write_json
from calve.spark.step.spec import PROGRESS_FILE

EVERY_S = 0.5
#: A statement counts as done when the next one begins.
_NEARLY = 0.99
_TASKS = ("tasks", "tasks_done")


class Meter(Protocol):
    """What a session mode can tell of the work so far."""

    def read(self) -> dict[str, Any]:
        """Counts since the step began."""

    def settle(self) -> None:
        """Wait, for a moment at most, until what has ended is counted."""


class NoMeter:
    """A mode that cannot tell."""

    def read(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def settle(self) -> None:
        """Nothing to wait for."""


class ProgressThread(threading.Thread):
    """The thread that looks at the progress: not one of the user's."""


class Board:
    """Shows where a step is: written every half second, and when a statement begins or ends."""

    def __init__(self, folder: Path, meter: Meter) -> None:
        self._file = folder / PROGRESS_FILE
        self._meter = meter
        self._where: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._before: dict[str, int] = {}
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._thread = ProgressThread(target=self._run, daemon=True)

    def __enter__(self) -> Board:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join(EVERY_S)

    def begin(self, number: int, total: int, text: str) -> None:
        """A statement begins."""
        self._before = {key: self._last.get(key, 0) for key in _TASKS}
        self._where = {"statement": number, "statements": total, "message": text}

    def count(self) -> dict[str, Any]:
        """The counts of all work that has ended."""
        self._meter.settle()
        self.show()
        return self._last

    def show(self) -> None:
        """Write down how it stands now."""
        with self._lock:
            counts = self._meter.read()
            tasks, done = (counts.get(key, 0) - self._before.get(key, 0) for key in _TASKS)
            fraction = _fraction(self._where, done / tasks if tasks > 0 else 0.0)
            shown = self._where | counts | ({} if fraction is None else {"fraction": fraction})
            if shown != self._last:
                write_json(self._file, shown)
                self._last = shown

    def _run(self) -> None:
        while not self._done.wait(EVERY_S):
            try:
                self.show()
            except Exception as error:  # noqa: BLE001  without Spark there is no progress, and the step itself fails
                print(f"calve: progress is not shown any more: {type(error).__name__}", flush=True)  # noqa: T201
                return


def _fraction(where: dict[str, Any], within: float) -> float | None:
    """How much is done, by statements, and within the running one by tasks; a script does not tell."""
    if "statements" not in where:
        return None
    done: int = where["statement"] - 1
    return round((done + min(within, _NEARLY)) / int(where["statements"]), 3)
