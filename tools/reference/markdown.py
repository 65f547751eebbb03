"""Markdown, as far as the reference needs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NOTICE = "<!-- Made from the code by `make docs`: edit the code, not this page. -->"


def page(title: str, introduction: str, parts: Iterable[str]) -> str:
    """A whole page."""
    return "\n\n".join([_NOTICE, f"# {title}", introduction, *(part for part in parts if part)]) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; nothing if it has no rows, and no columns of which all cells are empty."""
    if not rows:
        return ""
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    lines = [[head[place] for place in kept], ["---"] * len(kept)]
    lines += [[cell(row[place]) for place in kept] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(text: str) -> str:
    """A text that may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """A text as code; nothing stays nothing."""
    return f"`{text}`" if text else ""


def paragraphs(text: str | None) -> str:
    """A docstring with its paragraphs, each on one line."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))
