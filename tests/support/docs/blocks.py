"""The code blocks of a page, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.docs.notes import Notes, UnknownNoteError, is_note, read_note

ROOT = Path(__file__).parents[3]
PROJECT_README = ROOT / "src" / "calve" / "cli" / "project" / "common" / "README.md"
SHELLS = frozenset({"sh", "bash"})
LANGUAGES = SHELLS | {"console", "yaml", "python", "sql", "toml", "json", "diff"}
_FENCE = re.compile(r"(?P<indent> *)(?P<ticks>```+)(?P<language>[a-z]*)\s*")
_LOOKS_LIKE_A_COMMAND = re.compile(r"^(\$ |calve [a-z]+ )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `language` is empty for pictures and outputs."""

    page: Path
    line: int
    language: str
    text: str
    notes: Notes

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"{page_name(self.page)}:{self.line}"


def page_name(page: Path) -> str:
    """The path of a page within the repository."""
    return str(page.relative_to(ROOT))


def pages() -> list[Path]:
    """All pages whose blocks are tested."""
    examples = sorted((ROOT / "examples").glob("*/README.md"))
    around = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", PROJECT_README, *examples]
    return [*around, *sorted((ROOT / "docs").rglob("*.md"))]


def read_blocks(page: Path) -> list[Block]:
    """The blocks of a page. UnknownNoteError if a note is wrong, or stands before no block."""
    return list(_blocks(page, page.read_text(encoding="utf-8").splitlines()))


def _blocks(page: Path, lines: list[str]) -> Iterator[Block]:
    notes: Notes | None = None
    position = 0
    while position < len(lines):
        line = lines[position]
        fence = _FENCE.fullmatch(line)
        if fence is not None:
            end = _end(page, lines, position, fence["ticks"])
            text = "\n".join(inner[len(fence["indent"]) :] for inner in lines[position + 1 : end])
            block = Block(page, position + 1, fence["language"], text + "\n", notes or Notes())
            _refuse_odd(block)
            yield block
            notes, position = None, end
        elif is_note(line):
            notes = read_note(line)
        elif line.strip() and notes is not None:
            raise UnknownNoteError(f"{page_name(page)}:{position}: the note stands before no block")
        position += 1


def _end(page: Path, lines: list[str], start: int, ticks: str) -> int:
    for position in range(start + 1, len(lines)):
        if lines[position].strip() == ticks:
            return position
    raise AssertionError(f"{page_name(page)}:{start + 1}: the block does not end")


def _refuse_odd(block: Block) -> None:
    known = block.language in LANGUAGES or not block.language
    assert known, f"{block.place}: no test knows {block.language!r}"
    is_command = not block.language and _LOOKS_LIKE_A_COMMAND.search(block.text)
    assert not is_command, f"{block.place}: commands belong in a block of sh or console"
