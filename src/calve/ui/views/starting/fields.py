"""The params of a workflow as fields of a form, and what people typed into them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from calve.errors import UsageError
from calve.server.dependencies import Json
from calve.workflow.params import ParamDefinition, ParamMode, ParamType
from calve.workflow.params.texts import param_from_text

#: Field names of params begin with it: a param may have any name.
PREFIX = "param."
_FIXED = frozenset({ParamMode.IMMUTABLE.value, ParamMode.CONSTANT.value})


def fields_of(
    declared: Mapping[str, Json],
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[Json]:
    """A field for each param: with its default, or with what was typed and what is wrong with it."""
    return [
        {
            "name": name,
            "field": PREFIX + name,
            "type": param["type"],
            "expression": param.get("expression"),
            "is_fixed": param.get("mode") in _FIXED,
            "is_long": _is_long(param),
            "description": param.get("description", ""),
            "text": (typed or {}).get(PREFIX + name, default_text(param)),
            "error": (errors or {}).get(name),
        }
        for name, param in declared.items()
    ]


def read_fields(
    declared: Mapping[str, Json], typed: Mapping[str, str]
) -> tuple[dict[str, ParamDefinition], dict[str, str]]:
    """The params that differ from their defaults, and what is wrong with the others, by name."""
    found: dict[str, ParamDefinition] = {}
    errors: dict[str, str] = {}
    for name, param in declared.items():
        text = typed.get(PREFIX + name)
        if text is None or not _is_changed(param, text):
            continue
        try:
            found[name] = param_from_text(name, text, param)
        except UsageError as error:
            errors[name] = f"{error.message}. {error.remedy}"
    return found, errors


def default_text(param: Json) -> str:
    """The default as one would type it; empty for an expression, which is evaluated at the start."""
    value = param.get("value")
    if value is None:
        return ""
    if param["type"] == ParamType.STRING.value:
        return str(value)
    if param["type"] == ParamType.MAP.value:
        value = _plain(value)
    return json.dumps(value, ensure_ascii=False)


def _is_changed(param: Json, text: str) -> bool:
    # Browsers send line ends of their own, and nothing is the default of all that is not a text.
    same = text.replace("\r\n", "\n") == default_text(param)
    is_default = not text.strip() and (param["type"] != ParamType.STRING.value or "value" not in param)
    return not same and not is_default


def _plain(members: Mapping[str, Any]) -> Json:
    """The values inside a map of params; an inner expression is shown as it is written."""
    return {
        name: _plain(one["value"])
        if one.get("type") == ParamType.MAP.value and "value" in one
        else one.get("value", one.get("expression"))
        for name, one in members.items()
    }


def _is_long(param: Json) -> bool:
    is_scalar = param["type"] in (ParamType.LONG.value, ParamType.DOUBLE.value, ParamType.BOOLEAN.value)
    text = default_text(param)
    return not is_scalar and (param["type"] != ParamType.STRING.value or len(text) > 60 or "\n" in text)
