"""The params of the YAML language: `key: value` to `name: {value | expression, type, mode}`."""

from __future__ import annotations

import json

from calve.errors import UsageError
from calve.workflow.definition.base import RuleError
from calve.workflow.definition.dsl.keys import ParamKey, parse_key
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import MapBuilder, Node, Position
from calve.workflow.params.model import ParamType, infer_type


def read_params(node: Node, problems: Problems, skip: frozenset[str] = frozenset()) -> Node:
    """All entries of a map as params, but for the words to skip."""
    made = MapBuilder(node.at)
    for key, at, value in node.entries():
        if key not in skip:
            put_param(made, key, at, value, problems)
    return made.build()


def put_param(into: MapBuilder, key: str, at: Position, value: Node, problems: Problems) -> None:
    """Add one entry as a param; errors instead, if it is none."""
    parsed = read_key(key, at, problems)
    if parsed is None:
        return
    if parsed.name in into:
        problems.error(
            "KEY_DUPLICATE",
            f"the param '{parsed.name}' is defined twice",
            at,
            found=parsed.name,
            expected="each param once",
            remedy="Remove or rename one of the two.",
        )
        return
    into.put(parsed.name, read_param(parsed, at, value, problems), at)


def read_key(key: str, at: Position, problems: Problems) -> ParamKey | None:
    """The key of a param; None, and an error, if it has not the form."""
    try:
        return parse_key(key)
    except RuleError as fault:
        problems.error(
            fault.code,
            fault.message,
            at,
            found=fault.found or key,
            expected=fault.expected,
            among=fault.among,
        )
        return None


def read_param(key: ParamKey, at: Position, value: Node, problems: Problems) -> Node | None:
    """The param in the model's form; None, and errors, if the value does not fit."""
    if value.value is None:
        problems.error(
            "PARAM_TYPE", f"param '{key.name}' has no value", value.at, found="nothing", expected="a value"
        )
        return None
    made = MapBuilder(at)
    if key.is_expression:
        _put_expression(made, key, value, problems)
    else:
        _put_literal(made, key, value, problems)
    if key.mode is not None:
        made.put("mode", key.mode.value)
    return made.build() if "type" in made else None


def _put_expression(made: MapBuilder, key: ParamKey, value: Node, problems: Problems) -> None:
    if not value.is_scalar:
        problems.error(
            "PARAM_TYPE",
            f"param '{key.name}' is an expression, and is given {value.describe()}",
            value.at,
            found=value.describe(),
            expected="a SEL expression as a text",
        )
        return
    text = str(value.value).lower() if isinstance(value.value, bool) else str(value.value)
    made.put("expression", Node(text, value.at, text_at=value.text_at))
    made.put("type", (key.type or ParamType.STRING).value)


def _put_literal(made: MapBuilder, key: ParamKey, value: Node, problems: Problems) -> None:
    try:
        inferred = infer_type(value.plain())
    except UsageError as error:
        problems.error(
            error.code,
            f"param '{key.name}': {error.message}",
            value.at,
            found=value.describe(),
            remedy=error.remedy,
        )
        return
    wanted = key.type or inferred
    if wanted is not inferred and not _may_be_read_as(wanted, inferred, value):
        problems.error(
            "PARAM_TYPE",
            f"param '{key.name}' is declared {wanted.value}, and {value.describe()} is a {inferred.value}",
            value.at,
            found=inferred.value,
            expected=wanted.value,
            remedy=f"Declare it {inferred.value}, or write a value of type {wanted.value}.",
        )
        return
    made.put("value", _read_members(value, problems) if wanted is ParamType.MAP else value)
    made.put("type", wanted.value)


def _read_members(node: Node, problems: Problems) -> Node:
    made = MapBuilder(node.at)
    for key, at, value in node.entries():
        put_param(made, key, at, _maps_as_texts(value), problems)
    return made.build()


def _maps_as_texts(value: Node) -> Node:
    """Inside a map, a list with maps in it is a list of texts, each map as its JSON: options of step types
    need such lists, and params have none."""
    if not value.is_list or not any(item.is_map for item in value.items()):
        return value
    texts = [Node(_json(item.plain()), item.at) if item.is_map else item for item in value.items()]
    return Node(texts, value.at)


def _json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False)


def _may_be_read_as(wanted: ParamType, inferred: ParamType, value: Node) -> bool:
    if not value.value:
        # What is empty shows no type of its own.
        return (
            wanted.element is not None if value.is_list else value.is_map and wanted is ParamType.STRING_MAP
        )
    return (wanted, inferred) == (ParamType.MAP, ParamType.STRING_MAP)
