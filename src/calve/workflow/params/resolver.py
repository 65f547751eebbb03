"""What params may ask of a running workflow. The engine gives the answers; here nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from calve.errors import CalveError, NotFoundError
from calve.workflow.sel.errors import unknown_name


class Resolver:
    """The data of a running workflow, as the functions of `params` see it.

    Every method gives a plain value, or raises a CalveError that says what is missing. This class has
    nothing to give: subclasses override what they can answer.
    """

    def step_ids(self) -> Collection[str]:
        """The steps of the workflow that a param may name in `step__param`."""
        return ()

    def step_param(self, step_id: str, name: str) -> Any:
        """A param of a finished upstream step; also MAESTRO_STEP_STATUS and MAESTRO_STEP_END_TIME."""
        raise _missing(f"step '{step_id}' with a param '{name}'")

    def step_field(self, field: str) -> Any:
        """A field of the step itself: step_id, step_attempt_id, MAESTRO_STEP_ERROR_RETRIES and so on."""
        raise _missing(f"field '{field}' of a step")

    def instance_field(self, field: str) -> Any:
        """A field of the instance: INITIATOR_TYPE, owner, workflow_id and so on; None if it is not set."""
        raise _missing(f"field '{field}' of an instance")

    def signal_param(self, name: str) -> Any:
        """A param of the signal that started the workflow."""
        raise _missing(f"signal with a param '{name}'")

    def named_signal_param(self, signal: str, name: str) -> Any:
        """A param of one of the signals that started the workflow."""
        raise _missing(f"signal '{signal}' with a param '{name}'")

    def dependency_param(self, index: int, name: str) -> Any:
        """A param of a signal that the step waited for."""
        raise _missing(f"signal dependency {index} with a param '{name}'")

    def foreach_params(self, foreach: str, step_id: str, name: str) -> Any:
        """A param of a step in each iteration of a foreach, as an array."""
        raise _missing(f"foreach '{foreach}' with a step '{step_id}' and its param '{name}'")

    def subworkflow_param(self, subworkflow: str, step_id: str, name: str) -> Any:
        """A param of a step of a subworkflow."""
        raise _missing(f"subworkflow '{subworkflow}' with a step '{step_id}' and its param '{name}'")

    def next_unique_id(self) -> int:
        """A number that was never given before."""
        raise _missing("source of unique ids")

    def execution_environment(self) -> str:
        """The name of the environment."""
        raise _missing("execution environment")


def _missing(what: str) -> NotFoundError:
    return NotFoundError(
        "PARAM_REFERENCE", f"there is no {what} here", "Check the name, and that it has run before."
    )


class ResolverFunctions:
    """The functions `params.name(…)` of SEL, answered by a resolver."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def call(self, name: str, arguments: Sequence[str]) -> object:
        """Call a function by its name in SEL."""
        function = _FUNCTIONS.get((name, len(arguments)))
        if function is None:
            raise unknown_name(
                f"params has no function {name[:40]} with {len(arguments)} arguments",
                "There are get, containsKey, " + ", ".join(sorted({known for known, _ in _FUNCTIONS})) + ".",
            )
        return function(self._resolver, *arguments)


def _instance_field(resolver: Resolver, field: str) -> Any:
    found = resolver.instance_field(field)
    return "" if found is None else found


def _dependency(resolver: Resolver, index: str, name: str) -> Any:
    if not index.isdecimal() or len(index) > 9:
        raise _missing(f"signal dependency '{index[:40]}': it is a number from 0 on")
    return resolver.dependency_param(int(index), name)


def _signal_or_default(resolver: Resolver, signal: str, name: str, default: str) -> Any:
    try:
        return resolver.named_signal_param(signal, name)
    except CalveError:
        return default


_FUNCTIONS: dict[tuple[str, int], Callable[..., Any]] = {
    ("getFromStep", 1): lambda resolver, field: resolver.step_field(field),
    ("getFromStep", 2): lambda resolver, step, name: resolver.step_param(step, name),
    ("getFromInstance", 1): _instance_field,
    ("getFromSignal", 1): lambda resolver, name: resolver.signal_param(name),
    ("getFromSignal", 2): lambda resolver, signal, name: resolver.named_signal_param(signal, name),
    ("getFromSignalOrDefault", 3): _signal_or_default,
    ("getFromSignalDependency", 2): _dependency,
    ("getFromForeach", 3): lambda resolver, *names: resolver.foreach_params(*names),
    ("getFromSubworkflow", 3): lambda resolver, *names: resolver.subworkflow_param(*names),
    ("nextUniqueId", 0): lambda resolver: resolver.next_unique_id(),
    ("getExecutionEnvironment", 0): lambda resolver: resolver.execution_environment(),
}
