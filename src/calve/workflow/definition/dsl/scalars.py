"""Values of the YAML language that are taken as texts, whatever they look like."""

from __future__ import annotations

from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import MapBuilder, Node


def as_text(node: Node | None) -> Node | None:
    """A number or a boolean as the text that it is written as; anything else as it is."""
    if node is None or isinstance(node.value, str | dict | list) or node.value is None:
        return node
    text = str(node.value).lower() if isinstance(node.value, bool) else str(node.value)
    return Node(text, node.at, text_at=node.text_at)


def copy_texts(source: Node, into: MapBuilder, *keys: str) -> None:
    """Take over keys whose values are texts."""
    for key in keys:
        into.put(key, as_text(source.get(key)), source.keys.get(key))


def copy(source: Node, into: MapBuilder, *keys: str) -> None:
    """Take over keys as they are."""
    for key in keys:
        node = source.get(key)
        if node is not None and node.value is not None:
            into.put(key, node, source.keys.get(key))


def one_of(source: Node, problems: Problems, *keys: str) -> Node | None:
    """The value under whichever of these keys is there; an error if more than one is."""
    present = [key for key in keys if source.get(key) is not None]
    if len(present) > 1:
        problems.error(
            "KEY_DUPLICATE",
            f"'{present[0]}' and '{present[1]}' mean the same",
            source.keys[present[1]],
            found=present[1],
            expected="one of the two",
            remedy="Remove one of the two.",
        )
    return source.get(present[0]) if present else None


def expect_map(node: Node, what: str, problems: Problems) -> bool:
    """True for a map; an error otherwise."""
    if node.is_map:
        return True
    problems.error(
        "TYPE_MISMATCH", f"{what} is {node.describe()}", node.at, found=node.describe(), expected="a map"
    )
    return False


def expect_list(node: Node, what: str, problems: Problems) -> bool:
    """True for a list; an error otherwise."""
    if node.is_list:
        return True
    problems.error(
        "TYPE_MISMATCH", f"{what} is {node.describe()}", node.at, found=node.describe(), expected="a list"
    )
    return False
