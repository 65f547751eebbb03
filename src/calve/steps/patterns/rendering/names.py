"""Names in SQL, quoted so that whatever they hold stays a name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_INDENT = "  "
_QUOTED = re.compile(
    r"--[^\n]*|/\*.*?\*/"
    r"|(?P<quoted>'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|`[^`]*`)",
    re.DOTALL,
)


def quote(name: str) -> str:
    """A column or an alias in backticks."""
    return f"`{name.replace('`', '``')}`"


def column(name: str, table: str | None = None) -> str:
    """A column of a table, or of the only table there is."""
    return quote(name) if table is None else f"{table}.{quote(name)}"


def columns(names: Iterable[str], table: str | None = None) -> str:
    """Columns as a list."""
    return ", ".join(column(name, table) for name in names)


def is_plain(name: str) -> bool:
    """Whether a name needs no quotes in any SQL."""
    return _PLAIN.fullmatch(name) is not None


def indent(text: str, depth: int = 1) -> str:
    """A query within another: moved to the right, unless that would move the lines of a text in quotes."""
    if any("\n" in found[0] for found in _QUOTED.finditer(text) if found["quoted"]):
        return text
    return "\n".join(_INDENT * depth + line if line else line for line in text.splitlines())
