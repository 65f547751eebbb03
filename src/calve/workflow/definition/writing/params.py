"""Params back to the keys and values of the YAML language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from calve.errors import UsageError
from calve.workflow.definition.dsl.keys import ParamKey, parse_key, write_key
from calve.workflow.params.model import ParamDefinition, ParamType, infer_type


def write_params(params: Mapping[str, ParamDefinition], words: Iterable[str] = ()) -> dict[str, Any]:
    """The params as entries of a map; a name that is a word there is told apart by its type."""
    return dict(write_param(param, param.name in set(words)) for param in params.values())


def write_param(param: ParamDefinition, is_word: bool = False) -> tuple[str, Any]:
    """The key and the value of a param; YAML_INEXPRESSIBLE if the language has no way to say it."""
    if param.validator is not None or param.tags or param.meta or param.internal_mode or param.source:
        raise inexpressible(f"the param '{param.name}' has more than a value, a type and a mode")
    value = _value(param)
    stated = param.type if is_word or _must_be_stated(param, value) else None
    key = write_key(param.name, not param.is_literal, stated, param.mode)
    if parse_key(key) != ParamKey(param.name, not param.is_literal, stated, param.mode):
        raise inexpressible(f"'{param.name}' cannot be the name of a param there")
    return key, value


def inexpressible(reason: str) -> UsageError:
    """What JSON can say and YAML cannot."""
    return UsageError(
        "YAML_INEXPRESSIBLE", f"the definition cannot be written as YAML: {reason}", "Use the JSON form."
    )


def _value(param: ParamDefinition) -> Any:
    if param.expression is not None:
        return param.expression
    return write_params(param.members) if param.type is ParamType.MAP else param.value


def _must_be_stated(param: ParamDefinition, value: Any) -> bool:
    if not param.is_literal:
        return param.type is not ParamType.STRING
    return infer_type(value) is not param.type
