"""What pages say outside of their blocks."""

from __future__ import annotations

import re
from pathlib import Path

_FENCED = re.compile(r"^ *(```+).*?^ *\1", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")


def prose(page: Path) -> str:
    """The text of a page without its blocks."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def code_spans(text: str) -> list[str]:
    """What stands between backticks, as it is read: on one line, and `|` as tables cannot write it."""
    return [" ".join(span.split()).replace("\\|", "|") for span in _SPAN.findall(text)]
