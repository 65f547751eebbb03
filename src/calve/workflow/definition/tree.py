"""What a definition looks like before it is a model: plain values that know where they were written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text. Lines and columns count from 1; line 0 means that no place is known."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def shifted(self, columns: int) -> Position:
        """The place some columns to the right."""
        return Position(self.file, self.line, self.column + columns) if self.line else self


@dataclass(frozen=True, slots=True)
class Node:
    """A scalar, a map or a list, with its place and, for a map, the places of its keys."""

    value: Any
    at: Position
    keys: Mapping[str, Position] = field(default_factory=dict)
    #: The place of the first character of a text that is written on one line; None if it is not.
    text_at: Position | None = None

    @property
    def is_map(self) -> bool:
        """True for a map."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """True for a list."""
        return isinstance(self.value, list)

    @property
    def is_scalar(self) -> bool:
        """True for a text, a number, a boolean or null."""
        return not (self.is_map or self.is_list)

    @property
    def text(self) -> str | None:
        """The text; None for anything that is not a text."""
        return self.value if isinstance(self.value, str) else None

    def get(self, *keys: str) -> Node | None:
        """What stands under the keys, one in the other; None where that is not a map or has no such key."""
        found: Node | None = self
        for key in keys:
            if found is None or not found.is_map:
                return None
            found = found.value.get(key)
        return found

    def entries(self) -> Iterator[tuple[str, Position, Node]]:
        """The keys of a map, with their places and values; nothing for anything else."""
        if self.is_map:
            for key, node in self.value.items():
                yield key, self.keys.get(key, node.at), node

    def items(self) -> list[Node]:
        """The elements of a list; nothing for anything else."""
        return list(self.value) if self.is_list else []

    def inside(self, index: int) -> Position:
        """The place of a character of the text, as near as it is known."""
        return self.at if self.text_at is None else self.text_at.shifted(index)

    def plain(self) -> Any:
        """The values alone."""
        if self.is_map:
            return {key: node.plain() for key, node in self.value.items()}
        if self.is_list:
            return [node.plain() for node in self.value]
        return self.value

    def describe(self) -> str:
        """The value as an error names it: short, whatever its size."""
        if self.is_map:
            return "a map" if self.value else "an empty map"
        if self.is_list:
            return "a list" if self.value else "an empty list"
        if self.value is None:
            return "nothing"
        shown = repr(self.value) if isinstance(self.value, str) else str(self.plain())
        return shown if len(shown) <= 60 else shown[:59] + "…"


def node_of(value: object, at: Position) -> Node:
    """A plain value as a node, all of it at one place."""
    if isinstance(value, Node):
        return value
    if isinstance(value, Mapping):
        children = {str(key): node_of(item, at) for key, item in value.items()}
        return Node(children, at, {key: children[key].at for key in children})
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Node([node_of(item, at) for item in value], at)
    return Node(value, at)


class MapBuilder:
    """A map that is put together key by key."""

    def __init__(self, at: Position) -> None:
        self._at = at
        self._values: dict[str, Node] = {}
        self._keys: dict[str, Position] = {}

    def put(self, key: str, value: object, at: Position | None = None) -> None:
        """Set a key; None is left out. `at` is the place of the key."""
        if value is None:
            return
        node = node_of(value, at or self._at)
        self._values[key] = node
        self._keys[key] = at or node.at

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __bool__(self) -> bool:
        return bool(self._values)

    def build(self) -> Node:
        """The map as a node."""
        return Node(self._values, self._at, self._keys)
