"""Signals: what a trigger or a step waits for, and what a step sends."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Discriminator, Field, StrictInt, StrictStr, Tag, field_validator, model_validator

from calve.workflow.definition.base import Many, Model, refuse
from calve.workflow.definition.params import LoneParam, Params
from calve.workflow.params.model import ParamDefinition, ParamType

SIGNALS_IN_A_TRIGGER_LIMIT = 8
VALID_THROUGH = "valid_through"
_INDEXED = (ParamType.STRING, ParamType.LONG)


class Operator(StrEnum):
    """How the value of a signal's param is compared."""

    EQUAL = "="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    LESS = "<"
    LESS_OR_EQUAL = "<="

    @property
    def is_range(self) -> bool:
        """True for anything but equality."""
        return self is not Operator.EQUAL


class MatchValue(Model):
    """What a param of a signal has to be for a trigger: a text or a number, known when it is written."""

    value: StrictStr | StrictInt
    operator: Operator


class MatchParam(Model):
    """What a param of a signal has to be for a step: a STRING or LONG param of the step's own scope."""

    param: LoneParam
    operator: Operator

    @field_validator("param")
    @classmethod
    def _text_or_number(cls, param: ParamDefinition) -> ParamDefinition:
        return _indexed("match_params", param)


class SignalTriggerEntry(Model):
    """What one signal of a trigger has to look like, and by which params it joins the others."""

    match_params: dict[str, MatchValue] = Field(default_factory=dict)
    join_keys: Many[str] = ()


class SignalTrigger(Model):
    """Starts a workflow when all its signals have come."""

    #: The signals by name; all have to come. `match_params` are conditions on their params, `join_keys` have
    #: to be equal among them.
    definitions: dict[str, SignalTriggerEntry] = Field(min_length=1)
    #: Params of the run that is started.
    params: Params = Field(default_factory=dict)
    #: SEL; false means that the signals are used up and nothing starts.
    condition: str | None = None
    #: SEL; two firings with the same text are one.
    dedup_expr: str | None = None

    @field_validator("definitions", mode="before")
    @classmethod
    def _bare_names(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: {} if entry is None else entry for name, entry in value.items()}

    @model_validator(mode="after")
    def _check(self) -> SignalTrigger:
        if len(self.definitions) > SIGNALS_IN_A_TRIGGER_LIMIT:
            raise refuse(
                "SIGNAL_INVALID",
                f"the trigger waits for {len(self.definitions)} signals",
                expected=f"at most {SIGNALS_IN_A_TRIGGER_LIMIT}",
            )
        if len({len(entry.join_keys) for entry in self.definitions.values()}) > 1:
            raise refuse(
                "SIGNAL_INVALID",
                "the signals have different numbers of join_keys",
                expected="as many for each",
            )
        for name, entry in self.definitions.items():
            both = sorted(set(entry.join_keys) & set(entry.match_params))
            if both:
                raise refuse(
                    "SIGNAL_INVALID",
                    f"'{both[0]}' of '{name}' is in join_keys and in match_params",
                    expected="one of them",
                )
        return self


class SignalDependency(Model):
    """A signal that a step waits for."""

    #: The name of the signal.
    name: str = Field(min_length=1)
    #: What its params have to be: in YAML a value, or a map of `value` and `operator`, one of `=`, `>`, `>=`,
    #: `<` and `<=`. At most one of the operators is other than `=`.
    match_params: dict[str, MatchParam] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_range(self) -> SignalDependency:
        ranges = [name for name, match in self.match_params.items() if match.operator.is_range]
        if len(ranges) > 1:
            raise refuse(
                "SIGNAL_INVALID",
                f"'{ranges[0]}' and '{ranges[1]}' are both compared by order",
                expected="at most one operator other than '='",
            )
        return self


class TableDependency(Model):
    """A table whose data has to be complete up to some time before a step runs."""

    #: The name of the table; it may name params of the workflow.
    table: str = Field(min_length=1)
    #: A date or a timestamp as a STRING, or milliseconds as a LONG, of the step's own scope.
    valid_through: LoneParam

    @field_validator(VALID_THROUGH)
    @classmethod
    def _moment(cls, param: ParamDefinition) -> ParamDefinition:
        return _indexed(VALID_THROUGH, param)


def _kind(value: Any) -> str:
    is_table = "table" in value if isinstance(value, dict) else isinstance(value, TableDependency)
    return "TABLE" if is_table else "SIGNAL"


Dependency = Annotated[
    Annotated[SignalDependency, Tag("SIGNAL")] | Annotated[TableDependency, Tag("TABLE")],
    Discriminator(_kind),
]


class SignalOutput(Model):
    """A signal that a step sends when it has succeeded."""

    #: The name of the signal.
    name: str = Field(min_length=1)
    #: What others can wait for: texts and whole numbers.
    params: Params = Field(default_factory=dict)
    #: What it tells besides.
    payload: Params = Field(default_factory=dict)

    @field_validator("params")
    @classmethod
    def _text_or_number(cls, params: dict[str, ParamDefinition]) -> dict[str, ParamDefinition]:
        return {name: _indexed(name, param) for name, param in params.items()}


def _indexed(name: str, param: ParamDefinition) -> ParamDefinition:
    if param.type not in _INDEXED:
        raise refuse("SIGNAL_INVALID", f"'{name}' is a {param.type.value}", expected="a STRING or a LONG")
    return param
