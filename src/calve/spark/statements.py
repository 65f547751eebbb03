"""A script cut into its SQL statements, as Spark's own parser would tell them apart.

A semicolon ends a statement unless it is in a string, a quoted name, a comment, or within
`BEGIN … END`: a compound statement goes to Spark whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
      (?P<line_comment>--(?:\\\n|[^\r\n])*)
    | (?P<block_comment>/\*)
    | (?P<raw>[rR](?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)))
    | (?P<quoted>'[^'\\]*(?:\\.[^'\\]*)*(?:'|\Z)|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|`[^`]*(?:`|\Z))
    | (?P<dollar>\$(?:[A-Za-z_]\w*)?\$)
    | (?P<word>\w+)
    | (?P<separator>;)
    | (?P<other>[^\s;])
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")
# `END IF` and its like close what was not counted when it began.
_UNCOUNTED = frozenset({"IF", "WHILE", "LOOP", "REPEAT", "FOR"})
_LABEL_TOKENS = 2


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a script, and the line of the script on which it begins."""

    text: str
    line: int

    def shorten(self, width: int = 100) -> str:
        """The statement on one line, cut to a width, for logs."""
        flat = " ".join(self.text.split())
        return flat if len(flat) <= width else flat[: width - 1] + "…"


def split_statements(script: str) -> list[Statement]:
    """The statements of a script in order, without their semicolons; pieces of comments only are left out."""
    statements: list[Statement] = []
    piece = _Piece()
    for kind, start, end in _tokens(script):
        if kind == "separator" and piece.is_over():
            statements += piece.close(script)
            piece = _Piece()
        else:
            piece.add(kind, script[start:end], start, end)
    return statements + piece.close(script)


@dataclass
class _Piece:
    """What has been seen of a statement so far."""

    start: int | None = None
    end: int = 0
    tokens: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)

    def is_over(self) -> bool:
        """False within BEGIN … END, where a semicolon separates only the statements inside."""
        self._settle_end("")
        return not self.blocks

    def add(self, kind: str, text: str, start: int, end: int) -> None:
        """Take the next token."""
        if self.start is None:
            self.start = start
        self.end = end
        token = text.upper() if kind == "word" else text
        self._settle_end(token)
        if self._opens(token):
            self.blocks.append(token)
        # Only the latest few tokens are ever looked at.
        self.tokens = [*self.tokens[-2:], token]

    def _opens(self, token: str) -> bool:
        if token == "BEGIN":
            return bool(self.blocks) or self._may_begin()
        return token == "CASE" and bool(self.blocks) and self.tokens[-1:] != ["END"]

    def _may_begin(self) -> bool:
        """True at the very beginning, and after a label: a name and a colon."""
        return not self.tokens or (len(self.tokens) == _LABEL_TOKENS and self.tokens[-1] == ":")

    def _settle_end(self, following: str) -> None:
        """An END closes what is innermost, unless the word after it says that it closes something else."""
        if self.blocks and self.tokens[-1:] == ["END"]:
            self.tokens[-1] = "END" if following == "CASE" else ""
            if following not in _UNCOUNTED:
                self.blocks.pop()

    def close(self, script: str) -> list[Statement]:
        """The statement, or nothing if there was none."""
        if self.start is None:
            return []
        return [Statement(script[self.start : self.end], script.count("\n", 0, self.start) + 1)]


def _tokens(script: str) -> Iterator[tuple[str, int, int]]:
    """The tokens that matter, with their places; comments are passed over."""
    position = 0
    while match := _TOKEN.search(script, position):
        kind = match.lastgroup or ""
        position = match.end()
        if kind == "block_comment":
            position = _end_of_comment(script, position)
        elif kind == "dollar":
            closing = script.find(match[0], position)
            position = len(script) if closing < 0 else closing + len(match[0])
        if not kind.endswith("comment"):
            yield kind, match.start(), position


def _end_of_comment(script: str, position: int) -> int:
    depth = 1
    while depth:
        edge = _BLOCK_EDGE.search(script, position)
        if edge is None:
            return len(script)
        depth += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position
