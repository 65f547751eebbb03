"""Commands that run as processes of their own and outlive the engine that started them.

`launch` starts a command once per folder, `inspect` tells how it stands, `watch_exit` tells when it ends,
`terminate` ends it with all its children. `ProcessStep` makes a step type of them.
"""

from __future__ import annotations

from calve.steps.process.handle import ProcessHandle
from calve.steps.process.inspection import Alive, Exited, ProcessState, Vanished, inspect
from calve.steps.process.launching import Command, launch
from calve.steps.process.step import ProcessStep
from calve.steps.process.termination import terminate
from calve.steps.process.watching import watch_exit

__all__ = [
    "Alive",
    "Command",
    "Exited",
    "ProcessHandle",
    "ProcessState",
    "ProcessStep",
    "Vanished",
    "inspect",
    "launch",
    "terminate",
    "watch_exit",
]
