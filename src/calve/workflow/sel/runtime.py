"""What an evaluation may ask of the world around it, and nothing else: params, functions, clock, chance."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from calve.workflow.sel.limits import Meter


class Functions(Protocol):
    """The functions behind `params.name(…)` that need data of a running workflow."""

    def call(self, name: str, arguments: Sequence[str]) -> object:
        """The plain value of a function; raises a CalveError if there is no such function or value."""
        ...


class Host:
    """The clock and the chance that expressions see; tests and dry runs give their own."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        return time.time_ns() // 1_000_000

    def random(self) -> float:
        """A number from 0 to 1, 1 excluded."""
        return random.random()

    def random_uuid(self) -> str:
        """A random UUID."""
        return str(uuid.uuid4())


class Runtime:
    """All that one evaluation holds, apart from its variables."""

    __slots__ = ("functions", "host", "meter", "params")

    def __init__(
        self, meter: Meter, params: Mapping[str, Any], functions: Functions | None, host: Host
    ) -> None:
        self.meter = meter
        self.params = params
        self.functions = functions
        self.host = host
