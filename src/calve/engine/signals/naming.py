"""The params of the signals that came together, as expressions name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.engine.signals.encoding import SignalValue
from calve.errors import NotFoundError
from calve.workflow.params import ParamDefinition, ParamType, Resolver
from calve.workflow.params.evaluated import escaped

#: By signal, then by param: what an initiator of type SIGNAL has under `params`.
ParamsBySignal = Mapping[str, Mapping[str, SignalValue]]


class SignalResolver(Resolver):
    """Answers `params.getFromSignal(…)` and `signal__param`."""

    def __init__(self, params: ParamsBySignal) -> None:
        self._params = params

    def signal_param(self, name: str) -> Any:
        """The param of the first signal that has it."""
        return signal_param(self._params, name)

    def named_signal_param(self, signal: str, name: str) -> Any:
        """The param of that signal."""
        return named_signal_param(self._params, signal, name)


def signal_param(params: ParamsBySignal, name: str) -> SignalValue:
    """A param of the first signal that has it."""
    for found in params.values():
        if name in found:
            return found[name]
    raise _missing(f"none of the signals {', '.join(params) or '(there are none)'} has a param '{name}'")


def named_signal_param(params: ParamsBySignal, signal: str, name: str) -> SignalValue:
    """A param of one of the signals."""
    if signal not in params:
        raise _missing(f"'{signal}' is not among the signals {', '.join(params) or '(there are none)'}")
    if name not in params[signal]:
        raise _missing(f"the signal '{signal}' has no param '{name}'")
    return params[signal][name]


def as_definitions(params: ParamsBySignal) -> dict[str, ParamDefinition]:
    """The params under their own names; of two with one name, that of the first signal."""
    made: dict[str, ParamDefinition] = {}
    for found in params.values():
        for name, value in found.items():
            type_ = ParamType.STRING if isinstance(value, str) else ParamType.LONG
            made.setdefault(name, ParamDefinition(name=name, type=type_, value=escaped(value)))
    return made


def _missing(message: str) -> NotFoundError:
    return NotFoundError("PARAM_REFERENCE", message, "check the names; case counts")
