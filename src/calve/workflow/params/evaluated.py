"""An evaluated param: the definition, and what came out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from calve.errors import UsageError
from calve.workflow.params.kinds import ParamMode, ParamType
from calve.workflow.params.model import ParamDefinition
from calve.workflow.params.values import coerce, infer_type

_RESULT = "evaluated_result"
_TIME = "evaluated_time"


@dataclass(frozen=True, slots=True)
class EvaluatedParam:
    """A param of an instance. `value` is a plain value of the param's type."""

    definition: ParamDefinition
    value: Any
    #: Milliseconds since 1970.
    evaluated_ms: int

    @property
    def name(self) -> str:
        """The name of the param."""
        return self.definition.name

    def to_json(self) -> dict[str, Any]:
        """The instance form of Maestro: the definition, the result and its time."""
        return {**self.definition.to_json(), _RESULT: self.value, _TIME: self.evaluated_ms}

    @classmethod
    def from_json(cls, name: str, document: object) -> EvaluatedParam:
        """A param in its instance form; without a result, a literal value is the result."""
        definition = ParamDefinition.from_json(name, document)
        assert isinstance(document, Mapping)
        meta = {key: item for key, item in definition.meta.items() if key not in (_RESULT, _TIME)}
        value = document.get(_RESULT, _plain_literal(definition))
        if value is None:
            raise UsageError("PARAM_INVALID", f"param '{name}' has no {_RESULT}", "Give its value.")
        time = document.get(_TIME, 0)
        if not isinstance(time, int):
            raise UsageError(
                "PARAM_INVALID", f"{_TIME} of param '{name}' is not a number", "Give milliseconds."
            )
        return cls(replace(definition, meta=meta), coerce(name, definition.type, value), time)

    def to_definition(self) -> ParamDefinition:
        """What a restart begins with: the result as a literal; an IMMUTABLE param is evaluated again."""
        if self.definition.mode is ParamMode.IMMUTABLE:
            return self.definition
        if self.definition.type is ParamType.MAP:
            return self.definition.with_value(_members(self.definition, self.value))
        return self.definition.with_value(escaped(self.value))


def _plain_literal(param: ParamDefinition) -> Any:
    if param.type is ParamType.MAP and param.is_literal:
        return {name: _plain_literal(member) for name, member in param.members.items()}
    return param.value


def _members(param: ParamDefinition, value: Mapping[str, Any]) -> dict[str, ParamDefinition]:
    made = {}
    for name, item in value.items():
        member = param.members.get(name)
        type_ = infer_type(item) if member is None else member.type
        if type_ in (ParamType.MAP, ParamType.STRING_MAP) and member is None:
            type_ = ParamType.MAP
        shell = member or ParamDefinition(name=name, type=type_, expression="null", mode=param.mode)
        inner = _members(shell, item) if type_ is ParamType.MAP else escaped(item)
        made[name] = shell.with_value(inner)
    return made


def escaped(value: Any) -> Any:
    """A result as a literal that evaluates to itself: a dollar in it is not the beginning of a reference."""
    match value:
        case str():
            return value.replace("$", "$$")
        case list():
            return [escaped(item) for item in value]
        case dict():
            return {escaped(key): escaped(item) for key, item in value.items()}
    return value
