"""`name=value` on the command line: params, typed as the definition declares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calve.errors import UsageError
from calve.workflow.params import ParamDefinition, ParamType


def split_assignments(arguments: Sequence[str]) -> dict[str, str]:
    """The names and texts of assignments; a value may hold any character, also `=`."""
    found: dict[str, str] = {}
    for argument in arguments:
        name, separator, text = argument.partition("=")
        if not separator or not name:
            raise UsageError("ASSIGNMENT_INVALID", f"found '{argument}'", "write params as name=value")
        if name in found:
            raise UsageError("ASSIGNMENT_INVALID", f"'{name}' is given twice", "give each param once")
        found[name] = text
    return found


def read_params(arguments: Sequence[str], declared: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Params in Maestro's form: of the declared type, or of the type that the text looks like."""
    return {
        name: _read_param(name, text, declared.get(name)).to_json()
        for name, text in split_assignments(arguments).items()
    }


def read_signal_params(arguments: Sequence[str]) -> dict[str, str | int]:
    """Params of a signal, which are texts and whole numbers."""
    found: dict[str, str | int] = {}
    for name, text in split_assignments(arguments).items():
        value = _scalar(text)
        found[name] = value if isinstance(value, int) and not isinstance(value, bool) else text
    return found


def _read_param(name: str, text: str, declared: Mapping[str, Any] | None) -> ParamDefinition:
    if declared is None:
        return ParamDefinition.infer(name, _scalar(text))
    type_ = ParamType.parse(declared["type"])
    if type_ is ParamType.STRING:
        return ParamDefinition(name=name, type=type_, value=text)
    value = _scalar(text)
    if type_ is ParamType.MAP:
        return ParamDefinition.infer(name, value, type=type_)
    return ParamDefinition(name=name, type=type_, value=value)


def _scalar(text: str) -> Any:
    """What a text means in YAML; a text that means nothing there is itself."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError):
        return text
    return value if isinstance(value, bool | int | float | str | list | dict) else text
