"""Params as far as a definition alone gives them; what it does not give has a word in its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from calve.backfill.lineage.stand_ins import StandIns
from calve.errors import CalveError, UsageError
from calve.workflow.params import Evaluation, ParamDefinition, ParamLimits, Resolver, Scope
from calve.workflow.params.evaluated import EvaluatedParam
from calve.workflow.params.evaluation import ALL_PARAMS
from calve.workflow.sel import Host, Limits

#: The outputs of a capture that are tables of its change.
_CHANGE_TABLES = frozenset({"icdc_table", "icdc_location", "removed_table"})
_LIMITS = ParamLimits(sel=Limits(seconds=0.5))


class CaptureOutputs(Resolver):
    """What the captures of a workflow will say: which tables they show. Everything else is not known yet."""

    def __init__(self, captures: Mapping[str, Mapping[str, str]], step_ids: Collection[str]) -> None:
        self._captures = captures
        self._step_ids = step_ids

    def step_ids(self) -> Collection[str]:
        """All steps of the workflow."""
        return self._step_ids

    def step_param(self, step_id: str, name: str) -> Any:
        """The change tables of a capture: a word, or with several sources a map of words by alias."""
        words = self._captures.get(step_id)
        if not words or name not in _CHANGE_TABLES:
            return super().step_param(step_id, name)
        return next(iter(words.values())) if len(words) == 1 else dict(words)


class _NoHost(Host):
    """Time and chance belong to a run."""

    def now_ms(self) -> int:
        raise _at_run_time("the time")

    def random(self) -> float:
        raise _at_run_time("a random number")

    def random_uuid(self) -> str:
        raise _at_run_time("a random number")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What params of a step may refer to: the workflow's values, and the captures before it."""

    values: Mapping[str, Any] = field(default_factory=dict)
    #: By step, the word for each source by its alias.
    captures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    step_ids: Collection[str] = ()


class KnownParams(Evaluation):
    """An evaluation that never fails: an unknown value is a word of `stand_ins`."""

    def __init__(
        self,
        definitions: Mapping[str, ParamDefinition],
        stand_ins: StandIns,
        around: Surroundings | None = None,
        step_id: str | None = None,
    ) -> None:
        around = around or Surroundings()
        resolver = CaptureOutputs(around.captures, around.step_ids)
        super().__init__(definitions, Scope(step_id, around.values), resolver, _LIMITS, _NoHost())
        self._stand_ins = stand_ins

    def values(self) -> dict[str, Any]:
        """All params, in the order of their definitions."""
        return {name: self._known(name) for name in self.definitions}

    def lookup(self, name: str) -> Any:
        """The value behind a name, or its word."""
        try:
            return super().lookup(name)
        except CalveError:
            return self._stand_ins.param(name)

    def expression(self, text: str) -> Any:
        """The value of an expression, if all that it refers to is known. Raises what it raises otherwise."""
        names = self._expression_names(text)
        if ALL_PARAMS in names:
            # Which of them it asks for by name is in the text alone.
            names = (names - {ALL_PARAMS}) | {name for name in self.scope.workflow_params if name in text}
        for name in names:
            if self._stand_ins.params_in(self.lookup(name)):
                raise _at_run_time(f"'{name}'")
        return super().expression(text)

    def _known(self, name: str) -> Any:
        try:
            return self.evaluate(name).value
        except CalveError:
            return self._stand_ins.param(name)

    def _evaluated(self, param: ParamDefinition) -> EvaluatedParam:
        return EvaluatedParam(param, self._value(param), 0)

    def _value(self, param: ParamDefinition) -> Any:
        try:
            return super()._value(param)
        except CalveError:
            return self._stand_ins.param(param.name)


def _at_run_time(what: str) -> UsageError:
    return UsageError("PARAM_AT_RUN_TIME", f"{what} is known only when the workflow runs", "give it a value")
