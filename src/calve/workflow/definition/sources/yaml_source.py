"""YAML 1.2, read with the place of every key and value.

Dates stay texts, keys are texts, a key may stand once. Tags of one's own are refused.
"""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from calve.workflow.definition.problems import Problems
from calve.workflow.definition.sources.folding import fold_conditions
from calve.workflow.definition.sources.limits import ALIAS_LIMIT, DEPTH_LIMIT, too_big
from calve.workflow.definition.sources.unicode import whole_text
from calve.workflow.definition.tree import Node, Position

_TAGS = "tag:yaml.org,2002:"
_TOO_DEEP = ("YAML_TOO_DEEP", "it is nested too deeply")
_BRACKETS = re.compile(r"[\[\]{}]")
_BASES = {"0x": 16, "0o": 8, "0b": 2}
_UNQUOTED_EXPRESSION = re.compile(r"^\s*(-\s+)?![A-Za-z_]", re.MULTILINE)


def read_yaml(text: str, file: str, problems: Problems) -> Node | None:
    """The tree of a YAML text; None, and errors, if there is none."""
    if too_big(text, file, problems):
        return None
    if _flow_depth(text) > DEPTH_LIMIT:
        problems.error(*_TOO_DEEP, Position(file), expected=f"at most {DEPTH_LIMIT} levels")
        return None
    try:
        root = _compose(text)
    except (YAMLError, RecursionError, ValueError) as error:
        root = _compose_folded(text)
        if root is None:
            _syntax_error(text, error, file, problems)
            return None
    if root is None:
        problems.error(
            "YAML_SYNTAX", "there is nothing in it", Position(file), expected="a map with 'Workflow:'"
        )
        return None
    return _Reader(file, problems).node(root, 0)


def _flow_depth(text: str) -> int:
    """How deep the brackets go at most; the scanner takes time in the square of it."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _compose(text: str) -> Any:
    # ruamel offers no public way to the nodes but this, and only nodes know where they come from.
    return YAML(typ="safe", pure=True).compose(text)


def _compose_folded(text: str) -> Any:
    folded = fold_conditions(text)
    try:
        return None if folded.rstrip() == text.rstrip() else _compose(folded)
    except (YAMLError, RecursionError, ValueError):
        return None


def _syntax_error(text: str, error: Exception, file: str, problems: Problems) -> None:
    remedy = None
    if _UNQUOTED_EXPRESSION.search(text):
        remedy = "Quote a key that begins with '!', as in '!name': \"expression\"."
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    at = Position(file) if mark is None else Position(file, mark.line + 1, mark.column + 1)
    if isinstance(error, RecursionError):
        reason = "it is nested too deeply"
    elif isinstance(error, MarkedYAMLError):
        reason = ", ".join(part for part in (error.context, error.problem) if part)
    else:
        reason = str(error).splitlines()[0]
    problems.error("YAML_SYNTAX", f"not YAML: {reason}", at, expected="YAML", remedy=remedy)


class _Reader:
    """Turns composed nodes into the tree, and keeps count of what aliases add."""

    def __init__(self, file: str, problems: Problems) -> None:
        self._file = file
        self._problems = problems
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._added = 0

    def node(self, raw: Any, depth: int) -> Node | None:
        at = self._at(raw)
        if isinstance(raw, ScalarNode):
            self._count(raw)
            return self._scalar(raw, at)
        if id(raw) in self._open or depth > DEPTH_LIMIT:
            self._problems.error(*_TOO_DEEP, at, expected=f"at most {DEPTH_LIMIT} levels")
            return None
        self._count(raw)
        if self._added > ALIAS_LIMIT:
            self._exploded(at)
            return None
        self._open.add(id(raw))
        try:
            return self._map(raw, at, depth) if isinstance(raw, MappingNode) else self._list(raw, at, depth)
        finally:
            self._open.discard(id(raw))

    def _count(self, raw: Any) -> None:
        if id(raw) in self._seen:
            self._added += 1
        self._seen.add(id(raw))

    def _exploded(self, at: Position) -> None:
        if "YAML_ALIASES" not in self._problems.codes():
            self._problems.error(
                "YAML_ALIASES",
                f"its aliases expand to more than {ALIAS_LIMIT:,} values",
                at,
                expected="fewer, or none: what is repeated belongs in a foreach or a subworkflow",
            )

    def _at(self, raw: Any) -> Position:
        return Position(self._file, raw.start_mark.line + 1, raw.start_mark.column + 1)

    def _list(self, raw: SequenceNode, at: Position, depth: int) -> Node:
        items = (self.node(item, depth + 1) for item in raw.value)
        return Node([item for item in items if item is not None], at)

    def _map(self, raw: MappingNode, at: Position, depth: int) -> Node:
        values: dict[str, Node] = {}
        keys: dict[str, Position] = {}
        merged: list[Node] = []
        for raw_key, raw_value in raw.value:
            key, key_at = self._key(raw_key), self._at(raw_key)
            value = self.node(raw_value, depth + 1)
            if key is None or value is None:
                continue
            if key == "<<" and raw_key.tag == _TAGS + "merge":
                merged += value.items() if value.is_list else [value]
            elif key in values:
                self._problems.error(
                    "KEY_DUPLICATE",
                    f"the key '{key}' stands here and at line {keys[key].line}",
                    key_at,
                    found=key,
                    expected="each key once",
                    remedy="Remove or rename one of the two.",
                )
            else:
                values[key], keys[key] = value, key_at
        for base in merged:
            for key, key_at, value in base.entries():
                values.setdefault(key, value)
                keys.setdefault(key, key_at)
        return Node(values, at, keys)

    def _key(self, raw: Any) -> str | None:
        if isinstance(raw, ScalarNode) and self._known_tag(raw):
            return whole_text(str(raw.value), self._at(raw), self._problems)
        if not isinstance(raw, ScalarNode):
            self._problems.error("YAML_SYNTAX", "a key is not a text", self._at(raw), expected="a text")
        return None

    def _known_tag(self, raw: ScalarNode) -> bool:
        tag = str(raw.tag)
        if tag.startswith(_TAGS):
            return True
        self._problems.error(
            "YAML_SYNTAX",
            f"'{tag}' is a YAML tag",
            self._at(raw),
            found=tag,
            expected="no tag",
            remedy=f"Quote it: '{tag}'.",
        )
        return False

    def _scalar(self, raw: ScalarNode, at: Position) -> Node | None:
        if not self._known_tag(raw):
            return None
        on_one_line = raw.start_mark.line == raw.end_mark.line
        text_at = at.shifted(1 if raw.style in ("'", '"') else 0) if on_one_line else None
        try:
            value = _value(str(raw.tag).removeprefix(_TAGS), raw.value)
        except ValueError:
            self._problems.error("YAML_SYNTAX", f"{raw.value!r:.60} is not a number", at, expected="a number")
            return None
        if isinstance(value, str):
            value = whole_text(value, at, self._problems)
        return Node(value, at, text_at=text_at)


def _value(kind: str, text: str) -> Any:
    match kind:
        case "int":
            return _integer(text.replace("_", ""))
        case "float":
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
        case "bool":
            return text.lower() == "true"
        case "null":
            return None
    return text


def _integer(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    base = _BASES.get(digits[:2].lower())
    return sign * (int(digits) if base is None else int(digits[2:], base))
