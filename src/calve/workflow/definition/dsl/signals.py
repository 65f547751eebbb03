"""Signals in the YAML language: names alone, or with params written as params are.

signal_dependencies: [db/table, {name: db/other, match_params: {'!day<long>': RUN_DATE}}]
signal_dependencies: [{table: db.table, valid_through: 2024-01-31}]
signal_outputs: [{name: db/table, params: {day: "$RUN_DATE"}}]
"""

from __future__ import annotations

from collections.abc import Callable

from calve.workflow.definition.dsl.keys import ParamKey
from calve.workflow.definition.dsl.scalars import copy, copy_texts, expect_map
from calve.workflow.definition.dsl.values import read_key, read_param, read_params
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.signals import VALID_THROUGH
from calve.workflow.definition.tree import MapBuilder, Node, Position

EQUAL = "="


def read_dependencies(node: Node, problems: Problems) -> Node:
    """`signal_dependencies` in the model's form."""
    return _each(node, ("name", "match_params"), problems, _table_or_signal)


def read_outputs(node: Node, problems: Problems) -> Node:
    """`signal_outputs` in the model's form."""
    return _each(node, ("name", "params", "payload"), problems, _signal)


def read_trigger(node: Node, problems: Problems) -> Node | None:
    """`signal` of a trigger in the model's form: a name, a list of names, one signal, or `definitions`."""
    made = MapBuilder(node.at)
    names = [node] if node.text is not None else node.items()
    if names:
        definitions = MapBuilder(node.at)
        for name in names:
            definitions.put(str(name.plain()), {}, name.at)
        made.put("definitions", definitions.build(), node.at)
        return made.build()
    if not expect_map(node, "the signal of a trigger", problems):
        return None
    definitions = MapBuilder(node.at)
    for signal, at, entry in _definitions(node):
        definitions.put(signal, _entry(entry), at)
    made.put("definitions", definitions.build(), node.at)
    copy(node, made, "condition", "dedup_expr", *_unknown(node))
    params = node.get("params")
    if params is not None and expect_map(params, "params", problems):
        made.put("params", read_params(params, problems), node.keys["params"])
    return made.build()


def _unknown(node: Node) -> list[str]:
    known = {"definitions", "name", "match_params", "join_keys", "condition", "dedup_expr", "params"}
    return [key for key in node.value if key not in known]


def _definitions(node: Node) -> list[tuple[str, Position, Node]]:
    stated = node.get("definitions")
    if stated is not None:
        return list(stated.entries())
    name = node.get("name")
    return [] if name is None else [(str(name.plain()), name.at, node)]


def _entry(node: Node) -> Node:
    made = MapBuilder(node.at)
    matches = node.get("match_params")
    if matches is not None:
        values = MapBuilder(matches.at)
        for name, at, value in matches.entries():
            values.put(name, value if value.is_map else {"value": value, "operator": EQUAL}, at)
        made.put("match_params", values.build() if matches.is_map else matches, node.keys["match_params"])
    copy(node, made, "join_keys")
    return made.build()


def _each(
    node: Node,
    words: tuple[str, ...],
    problems: Problems,
    read: Callable[[Node, tuple[str, ...], Problems], Node],
) -> Node:
    items = node.items() if node.is_list else [node]
    return Node([read(item, words, problems) for item in items if item.value is not None], node.at)


def _table_or_signal(item: Node, words: tuple[str, ...], problems: Problems) -> Node:
    if item.get("table") is None:
        return _signal(item, words, problems)
    made = MapBuilder(item.at)
    copy_texts(item, made, "table")
    for key, at, value in item.entries():
        parsed = None if key == "table" else read_key(key, at, problems)
        if parsed is not None and parsed.name == VALID_THROUGH:
            made.put(VALID_THROUGH, _moment(parsed, at, value, problems), at)
        elif parsed is not None:
            made.put(key, value, at)
    return made.build()


def _moment(key: ParamKey, at: Position, value: Node, problems: Problems) -> Node | None:
    if value.get("type") is not None:
        return value
    return read_param(key, at, value, problems)


def _signal(item: Node, words: tuple[str, ...], problems: Problems) -> Node:
    made = MapBuilder(item.at)
    if item.text is not None:
        made.put("name", item)
        return made.build()
    copy_texts(item, made, "name")
    for key, at, value in item.entries():
        if key == "match_params" and key in words:
            made.put(key, _match_params(value, problems), at)
        elif key != "name" and key in words and value.is_map:
            made.put(key, read_params(value, problems), at)
        elif key != "name":
            made.put(key, value, at)
    return made.build() if item.is_map else item


def _match_params(node: Node, problems: Problems) -> Node:
    made = MapBuilder(node.at)
    for key, at, value in node.entries():
        parsed = read_key(key, at, problems)
        if parsed is None:
            continue
        if value.get("param") is not None:
            made.put(parsed.name, value, at)
            continue
        operator = value.get("operator")
        compared = value if operator is None else value.get("value")
        if compared is None:
            problems.error("KEY_MISSING", "'value' is missing", value.at, expected="the key 'value'")
            continue
        param = read_param(parsed, at, compared, problems)
        if param is not None:
            made.put(parsed.name, {"param": param, "operator": operator or EQUAL}, at)
    return made.build() if node.is_map else node
