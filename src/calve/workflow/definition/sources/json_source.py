"""JSON, read with the place of every key and value; the same key twice is refused."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from json import decoder

from calve.workflow.definition.problems import Problems
from calve.workflow.definition.sources.limits import DEPTH_LIMIT, too_big
from calve.workflow.definition.sources.unicode import whole_text
from calve.workflow.definition.tree import Node, Position

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_LONGEST_NUMBER = 400


def _scan_string(text: str, start: int) -> tuple[str, int]:
    """The string whose first character is at `start`, and the index after its closing quote."""
    value, end = decoder.scanstring(text, start, True)  # type: ignore[attr-defined]
    return str(value), int(end)


class _SyntaxError(Exception):
    """What is not JSON, and where."""

    def __init__(self, reason: str, index: int) -> None:
        super().__init__(reason)
        self.index = index


def read_json(text: str, file: str, problems: Problems) -> Node | None:
    """The tree of a JSON text; None, and errors, if there is none."""
    if too_big(text, file, problems):
        return None
    reader = _Reader(text, file, problems)
    try:
        return reader.document()
    except _SyntaxError as error:
        problems.error("JSON_SYNTAX", f"not JSON: {error}", reader.at(error.index), expected="JSON")
    except json.JSONDecodeError as error:
        problems.error("JSON_SYNTAX", f"not JSON: {error.msg}", reader.at(error.pos), expected="JSON")
    return None


class _Reader:
    """A recursive reader; `index` is the next character."""

    def __init__(self, text: str, file: str, problems: Problems) -> None:
        self._text = text
        self._file = file
        self._problems = problems
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._index = 0

    def at(self, index: int) -> Position:
        """The place of a character."""
        line = bisect_right(self._starts, index)
        return Position(self._file, line, index - self._starts[line - 1] + 1)

    def document(self) -> Node:
        """The one value of the text."""
        self._skip_space()
        made = self._value(0)
        self._skip_space()
        if self._index != len(self._text):
            raise _SyntaxError("there is more after its end", self._index)
        return made

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._index)
        self._index = self._index if found is None else found.end()

    def _value(self, depth: int) -> Node:
        if depth > DEPTH_LIMIT:
            raise _SyntaxError(f"it is nested more than {DEPTH_LIMIT} levels deep", self._index)
        start = self._index
        match self._text[start : start + 1]:
            case "{":
                return self._map(start, depth)
            case "[":
                return self._list(start, depth)
            case '"':
                text = self._string(start)
                return Node(text, self.at(start), text_at=self.at(start + 1))
        return Node(self._word_or_number(start), self.at(start))

    def _string(self, start: int) -> str:
        text, self._index = _scan_string(self._text, start + 1)
        return whole_text(text, self.at(start), self._problems)

    def _word_or_number(self, start: int) -> object:
        for word, value in _WORDS.items():
            if self._text.startswith(word, start):
                self._index = start + len(word)
                return value
        found = _NUMBER.match(self._text, start)
        if found is None or len(found[0]) > _LONGEST_NUMBER:
            raise _SyntaxError("a value is expected", start)
        self._index = found.end()
        return int(found[0]) if found[1] is None and found[2] is None else float(found[0])

    def _map(self, start: int, depth: int) -> Node:
        values: dict[str, Node] = {}
        keys: dict[str, Position] = {}
        self._open()
        while not self._closes("}", first=not keys):
            key_at = self.at(self._index)
            if not self._text.startswith('"', self._index):
                raise _SyntaxError("a key in double quotes is expected", self._index)
            key = self._string(self._index)
            self._expect(":")
            if key in values:
                self._duplicate(key, key_at, keys[key])
            value = self._value(depth + 1)
            values.setdefault(key, value)
            keys.setdefault(key, key_at)
        return Node(values, self.at(start), keys)

    def _list(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        self._open()
        while not self._closes("]", first=not items):
            items.append(self._value(depth + 1))
        return Node(items, self.at(start))

    def _open(self) -> None:
        self._index += 1
        self._skip_space()

    def _closes(self, bracket: str, first: bool) -> bool:
        """True past the closing bracket; otherwise the next element begins here."""
        self._skip_space()
        found = self._text[self._index : self._index + 1]
        if found == bracket:
            self._index += 1
            return True
        if not first:
            self._expect(",")
        return False

    def _expect(self, character: str) -> None:
        self._skip_space()
        if not self._text.startswith(character, self._index):
            raise _SyntaxError(f"'{character}' is expected", self._index)
        self._index += 1
        self._skip_space()

    def _duplicate(self, key: str, at: Position, former: Position) -> None:
        self._problems.error(
            "KEY_DUPLICATE",
            f"the key '{key}' stands here and at line {former.line}",
            at,
            found=key,
            expected="each key once",
            remedy="Remove or rename one of the two.",
        )
