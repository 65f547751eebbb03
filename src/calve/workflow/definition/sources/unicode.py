"""Texts that are made of characters: halves of them are put together, or refused."""

from __future__ import annotations

import re

from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import Position

_SURROGATE = re.compile("[\ud800-\udfff]")


def whole_text(text: str, at: Position, problems: Problems) -> str:
    """The text with pairs of surrogates as the characters they stand for; an error for a lone one."""
    if _SURROGATE.search(text) is None:
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        problems.error("TEXT_INVALID", "the text has half a character in it", at, expected="whole characters")
        return _SURROGATE.sub("\ufffd", text)
