"""Conditions of a `dag` that are broken over several lines, as on a printed page.

YAML wants a key on one line. In the arrow form of `dag` the key is a condition, and long:

    - check_status:
        IF params.getFromStep('load', 'MAESTRO_STEP_STATUS') ==
        'COMPLETED_WITH_ERROR': recovery ->
        end
"""

from __future__ import annotations

import re

_DAG = re.compile(r"(\s*)dag\s*:\s*(#.*)?")
_CONDITION = re.compile(r"\s*(-\s+)?(IF)\s", re.IGNORECASE)
_HAS_VALUE = re.compile(r":(\s|$)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def fold_conditions(text: str) -> str:
    """The text with each broken condition on its first line; the number of lines stays the same."""
    lines = text.splitlines()
    index = 0
    while index < len(lines):
        index += 1
        heading = _DAG.fullmatch(lines[index - 1])
        if heading is not None:
            index = _fold_block(lines, index, len(heading[1]))
    return "\n".join(lines) + "\n"


def _fold_block(lines: list[str], start: int, indent: int) -> int:
    index = start
    while index < len(lines) and _belongs(lines[index], indent):
        if _CONDITION.match(lines[index]):
            _fold_entry(lines, index, indent)
        index += 1
    return index


def _belongs(line: str, indent: int) -> bool:
    stripped = line.strip()
    depth = len(line) - len(line.lstrip())
    return not stripped or depth > indent or (depth == indent and stripped.startswith("-"))


def _fold_entry(lines: list[str], first: int, indent: int) -> None:
    following = first + 1
    while not _complete(lines[first]) and following < len(lines) and _belongs(lines[following], indent):
        lines[first] = f"{lines[first].rstrip()} {lines[following].strip()}"
        lines[following] = ""
        following += 1


def _complete(line: str) -> bool:
    bare = _QUOTED.sub("", line).rstrip()
    return _HAS_VALUE.search(bare) is not None and not bare.endswith(("->", ":"))
