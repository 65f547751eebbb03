"""Calve: incremental processing for Apache Iceberg, the change and only the change.

import calve

lake = calve.connect()
capture = lake.capture("db.events", consumer="daily")
…
capture.commit()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calve.errors import CalveError
    from calve.lake.lookback import LookbackAsk
    from calve.lake.model import Changes, Mode, Operation
    from calve.ledger.asks import SourceAsk
    from calve.ledger.capture import Capture
    from calve.ledger.ledger import Ledger, connect
    from calve.ledger.limits import CaptureLimits
    from calve.workflow.definition.building import Workflow, foreach, job, param, sel, subworkflow, while_

__version__ = "0.1.0"
__all__ = [
    "CalveError",
    "Capture",
    "CaptureLimits",
    "Changes",
    "Ledger",
    "LookbackAsk",
    "Mode",
    "Operation",
    "SourceAsk",
    "Workflow",
    "__version__",
    "connect",
    "foreach",
    "job",
    "param",
    "sel",
    "subworkflow",
    "while_",
]

# Loaded when first asked for, so that `import calve` costs next to nothing.
_MODULES = {
    "CalveError": "calve.errors",
    "Capture": "calve.ledger.capture",
    "CaptureLimits": "calve.ledger.limits",
    "Changes": "calve.lake.model",
    "Ledger": "calve.ledger.ledger",
    "LookbackAsk": "calve.lake.lookback",
    "Mode": "calve.lake.model",
    "Operation": "calve.lake.model",
    "SourceAsk": "calve.ledger.asks",
    "Workflow": "calve.workflow.definition.building",
    "connect": "calve.ledger.ledger",
    "foreach": "calve.workflow.definition.building",
    "job": "calve.workflow.definition.building",
    "param": "calve.workflow.definition.building",
    "sel": "calve.workflow.definition.building",
    "subworkflow": "calve.workflow.definition.building",
    "while_": "calve.workflow.definition.building",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'calve' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
