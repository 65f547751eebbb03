"""Params from texts that people type, on a command line or in a form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from calve.workflow.params.kinds import ParamType
from calve.workflow.params.model import ParamDefinition

#: Deeper values could be stored, but not be read again.
_DEPTH_LIMIT = 100


def param_from_text(name: str, text: str, declared: Mapping[str, Any] | None) -> ParamDefinition:
    """The param that a text means: of the declared type, or of the type that the text looks like."""
    if declared is None:
        return ParamDefinition.infer(name, value_from_text(text))
    type_ = ParamType.parse(declared["type"])
    if type_ is ParamType.STRING:
        return ParamDefinition(name=name, type=type_, value=text)
    value = value_from_text(text)
    if type_ is ParamType.MAP:
        return ParamDefinition.infer(name, value, type=type_)
    return ParamDefinition(name=name, type=type_, value=value)


def signal_value_from_text(text: str) -> str | int:
    """The value of a signal's param, which is a text or a whole number."""
    value = value_from_text(text)
    return value if isinstance(value, int) and not isinstance(value, bool) else text


def value_from_text(text: str) -> Any:
    """What a text means in YAML; a text that means nothing there, or is nested without end, is itself."""
    # Most who import params read no texts.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError):
        return text
    is_value = isinstance(value, bool | int | float | str | list | dict) and not _is_too_deep(value)
    return value if is_value else text


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH_LIMIT):
        # An alias of YAML may stand in many places, and even inside of itself: it is looked at once a level.
        parts = (part for found in level for part in _parts(found))
        level = list({id(part): part for part in parts}.values())
        if not level:
            return False
    return True


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
