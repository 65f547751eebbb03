"""Literals: `$name`, `${name}` and `$$` in strings. What is put in is not looked at again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calve.workflow.params.kinds import ParamType
from calve.workflow.params.model import ParamDefinition
from calve.workflow.sel.printing import plain_text

_REFERENCE = re.compile(r"\$(?:(\$)|\{([a-zA-Z][\-_./a-zA-Z0-9]*)\}|([a-zA-Z][_a-zA-Z0-9]*))")


def names_in(text: str) -> frozenset[str]:
    """The names that a text refers to."""
    return frozenset(found[2] or found[3] for found in _REFERENCE.finditer(text) if not found[1])


def names_in_literal(param: ParamDefinition) -> frozenset[str]:
    """The names that a literal param refers to: only strings can, and the keys of a string map too."""
    return frozenset().union(*(names_in(text) for text in _texts(param)))


def _texts(param: ParamDefinition) -> list[str]:
    match param.type:
        case ParamType.STRING:
            return [param.value]
        case ParamType.STRING_ARRAY:
            return [item for item in param.value if item is not None]
        case ParamType.STRING_MAP:
            return [*param.value, *param.value.values()]
    return []


def interpolate(text: str, lookup: Callable[[str], Any]) -> str:
    """The text with every reference replaced by the value that `lookup` gives."""

    def put(found: re.Match[str]) -> str:
        return "$" if found[1] else as_text(lookup(found[2] or found[3]))

    return _REFERENCE.sub(put, text) if "$" in text else text


def interpolate_literal(param: ParamDefinition, lookup: Callable[[str], Any]) -> Any:
    """The value of a literal param with its references replaced."""
    match param.type:
        case ParamType.STRING:
            return interpolate(param.value, lookup)
        case ParamType.STRING_ARRAY:
            return [None if item is None else interpolate(item, lookup) for item in param.value]
        case ParamType.STRING_MAP:
            return {interpolate(key, lookup): interpolate(item, lookup) for key, item in param.value.items()}
    return param.value


def as_text(value: Any) -> str:
    """A value inside a string: a scalar as Java prints it, an array or a map as JSON."""
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return plain_text(value)
