"""Evaluating params: each one after those that it refers to, whatever their order; a cycle is an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calve.errors import UsageError
from calve.workflow.params.evaluated import EvaluatedParam
from calve.workflow.params.interpolation import interpolate, interpolate_literal, names_in, names_in_literal
from calve.workflow.params.kinds import ParamType
from calve.workflow.params.merge import Definitions
from calve.workflow.params.model import ParamDefinition
from calve.workflow.params.references import is_reference, split_reference
from calve.workflow.params.resolver import Resolver, ResolverFunctions
from calve.workflow.params.values import coerce, show
from calve.workflow.sel import Host, Limits, SelError, evaluate, referenced_names

#: The name under which an expression sees all params at once.
ALL_PARAMS = "params"


@dataclass(frozen=True, slots=True)
class ParamLimits:
    """What the evaluation of all params of a workflow or of a step may use."""

    #: Characters of the JSON of all evaluated params.
    total_json: int = 750_000
    #: For each expression.
    sel: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where params are evaluated: in a workflow, or in one of its steps."""

    #: None in the scope of the workflow.
    step_id: str | None = None
    #: The plain values of the workflow's params; all of them are evaluated before any step.
    workflow_params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "the workflow" if self.step_id is None else f"step '{self.step_id}'"


def evaluate_params(
    definitions: Definitions,
    scope: Scope | None = None,
    resolver: Resolver | None = None,
    limits: ParamLimits | None = None,
    host: Host | None = None,
) -> dict[str, EvaluatedParam]:
    """All params of a workflow or of a step, evaluated; in the order of their definitions."""
    evaluation = Evaluation(definitions, scope, resolver, limits, host)
    made = evaluation.evaluate_all()
    check_size(to_text(made), evaluation.limits, str(evaluation.scope))
    return made


def to_text(params: Mapping[str, EvaluatedParam]) -> str:
    """Evaluated params as one JSON text."""
    made = {name: param.to_json() for name, param in params.items()}
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False)


def check_size(text: str, limits: ParamLimits, where: str) -> None:
    """Refuse params that are too large together, by their JSON text."""
    size = len(text)
    if size > limits.total_json:
        raise UsageError(
            "PARAM_SIZE",
            f"the params of {where} take {size} characters of JSON, and the limit is {limits.total_json}",
            "Keep large data in a table or a file, and its name in the param.",
        )


class Evaluation:
    """One scope, its definitions, and what is evaluated so far."""

    def __init__(
        self,
        definitions: Definitions,
        scope: Scope | None = None,
        resolver: Resolver | None = None,
        limits: ParamLimits | None = None,
        host: Host | None = None,
    ) -> None:
        self.definitions = definitions
        self.scope = scope or Scope()
        self.resolver = resolver or Resolver()
        self.limits = limits or ParamLimits()
        self.host = host or Host()
        self.done: dict[str, EvaluatedParam] = {}
        self._functions = ResolverFunctions(self.resolver)

    def evaluate(self, name: str) -> EvaluatedParam:
        """A param of this scope, and before it what it refers to."""
        chain = [name]
        while chain and name not in self.done:
            current = self.definitions[chain[-1]]
            waiting = next((found for found in self._names(current) if self._is_pending(found)), None)
            if waiting is None:
                self.done[chain.pop()] = self._evaluated(current)
                continue
            wanted = self._own_name(waiting)
            if wanted in chain:
                raise self._cycle([*chain[chain.index(wanted) :], wanted])
            chain.append(wanted)
        return self.done[name]

    def evaluate_all(self) -> dict[str, EvaluatedParam]:
        """All params of this scope, in the order of their definitions.

        What a step has under a name of its workflow comes first: all else in the step sees that one.
        """
        for name in sorted(self.definitions, key=lambda name: name not in self.scope.workflow_params):
            self.evaluate(name)
        return {name: self.done[name] for name in self.definitions}

    def expression(self, text: str) -> Any:
        """The value of an expression that stands in this scope: a condition, for example."""
        names = self._expression_names(text)
        params: dict[str, Any] = {}
        if self.scope.step_id is not None and ALL_PARAMS in names:
            params.update(self.scope.workflow_params)
        params.update({name: self.lookup(name) for name in names if name != ALL_PARAMS})
        return evaluate(text, params, functions=self._functions, limits=self.limits.sel, host=self.host).value

    def text(self, text: str) -> str:
        """A text that stands in this scope, with its references replaced: a timeout, for example."""
        for name in names_in(text):
            if self._is_pending(name):
                self.evaluate(self._own_name(name))
        return interpolate(text, self.lookup)

    def lookup(self, name: str) -> Any:
        """The value behind a name, in the order of the scopes; PARAM_REFERENCE if there is none."""
        if self.scope.step_id is not None and is_reference(name):
            return self._referenced(name)
        if name in self.done:
            return self.done[name].value
        if self.scope.step_id is not None and name in self.scope.workflow_params:
            return self.scope.workflow_params[name]
        if name in self.definitions:
            return self.evaluate(name).value
        if is_reference(name):
            return self.resolver.named_signal_param(*split_reference(name, ()))
        raise UsageError(
            "PARAM_REFERENCE",
            f"'{name}' is not a param of {self.scope}"
            + ("" if self.scope.step_id is None else " or its workflow"),
            f"Define '{name}', or give it when the workflow is started.",
        )

    def _referenced(self, name: str) -> Any:
        step_id, param = split_reference(name, self._step_ids())
        if step_id == self.scope.step_id:
            if param in self.definitions:
                return self.evaluate(param).value
            raise UsageError(
                "PARAM_REFERENCE", f"step '{step_id}' has no param '{param}'", "Check the name; case counts."
            )
        if step_id in self.resolver.step_ids():
            return self.resolver.step_param(step_id, param)
        return self.resolver.named_signal_param(step_id, param)

    def _step_ids(self) -> set[str]:
        own = () if self.scope.step_id is None else (self.scope.step_id,)
        return {*self.resolver.step_ids(), *own}

    def _own_name(self, name: str) -> str:
        """The param of this scope that a name stands for."""
        if self.scope.step_id is None or not is_reference(name):
            return name
        return split_reference(name, self._step_ids())[1]

    def _is_pending(self, name: str) -> bool:
        """True if a name stands for a param of this scope that has to be evaluated first."""
        if self.scope.step_id is not None:
            if is_reference(name):
                step_id, param = split_reference(name, self._step_ids())
                return step_id == self.scope.step_id and param in self.definitions and param not in self.done
            if name in self.scope.workflow_params:
                return False
        return name in self.definitions and name not in self.done

    def _names(self, param: ParamDefinition) -> list[str]:
        if param.expression is not None:
            return sorted(self._expression_names(param.expression) - {ALL_PARAMS})
        if param.type is ParamType.MAP:
            return [name for member in param.members.values() for name in self._names(member)]
        return sorted(names_in_literal(param))

    def _expression_names(self, text: str) -> frozenset[str]:
        return referenced_names(text, self.limits.sel)

    def _evaluated(self, param: ParamDefinition) -> EvaluatedParam:
        return EvaluatedParam(param, self._value(param), self.host.now_ms())

    def _value(self, param: ParamDefinition) -> Any:
        if param.expression is not None:
            return self._cast(param, self._expression_value(param, param.expression))
        if param.type is ParamType.MAP:
            return {name: self._value(member) for name, member in param.members.items()}
        return interpolate_literal(param, self.lookup)

    def _expression_value(self, param: ParamDefinition, text: str) -> Any:
        try:
            return self.expression(text)
        except SelError as error:
            named = SelError(
                error.code, f"param '{param.name}' of {self.scope}: {error.message}", error.remedy
            )
            named.line, named.column = error.line, error.column
            raise named from error

    def _cast(self, param: ParamDefinition, value: Any) -> Any:
        if value is None:
            raise UsageError(
                "PARAM_TYPE",
                f"param '{param.name}' of {self.scope} is evaluated to null",
                f"Make the expression give a {param.type.value}.",
            )
        return coerce(param.name, param.type, value)

    def _cycle(self, chain: list[str]) -> UsageError:
        return UsageError(
            "PARAM_CYCLE",
            f"params of {self.scope} refer to each other in a circle: {' → '.join(map(_short, chain))}",
            "Break the circle: give one of them a value of its own.",
        )


def _short(name: str) -> str:
    return name if len(name) <= 40 else show(name)


def evaluate_condition(text: str, evaluation: Evaluation) -> bool:
    """The truth of a condition that stands in a scope: of an edge, of a while, of a trigger."""
    found = evaluation.expression(text)
    if isinstance(found, bool):
        return found
    raise UsageError(
        "PARAM_TYPE",
        f"the condition '{text[:80]}' gives {show(found)}, not true or false",
        "Compare the value with something.",
    )
