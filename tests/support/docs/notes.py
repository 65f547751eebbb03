"""What a page says about a block to its test, in a comment before it:

    <!-- docs-test: parse-only (it needs the network) -->

| word | |
|---|---|
| `setup=NAME` | makes what the blocks from here on talk about: a function of `support.docs.setups` |
| `file=NAME` | the block is the content of this file |
| `fill` | `<name>` stands for the value of that name in the last JSON that a command of the page printed |
| `expect="TEXT"` | the output has this text in it |
| `retry=N` | run again until it succeeds, N seconds at most |
| `ends-after=N` | it goes on by itself: ended after N seconds |
| `each` | every top-level entry is an example of its own |
| `body=NAME` | the JSON is what a request has: of a `backfill`, `params`, a `signal` |
| `input="TEXT"` | what the command is told by its standard input |
| `smaller="OPTIONS"` | run with these options too, to take less time; for `make`, what it would run |
| `needs=spark` | run with the tests that start a JVM, as are all blocks of its page; SQL is filled too |
| `parse-only` | checked, not run |
| `sketch` | not even checked: it has … in it |

The last two, and `ends-after`, have to give a reason, in brackets at the end.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

_NOTE = re.compile(r"<!-- docs-test: (?P<words>[^(]*?)\s*(?:\((?P<reason>.*)\))? -->")
_VALUED = frozenset({"setup", "file", "expect", "retry", "ends-after", "input", "smaller", "needs", "body"})
_BARE = frozenset({"fill", "each", "parse-only", "sketch"})
_ONLY_CHECKED = ("parse-only", "sketch")
_NEED_A_REASON = (*_ONLY_CHECKED, "ends-after")


class UnknownNoteError(Exception):
    """A comment for the tests that they do not understand."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What is said about a block."""

    words: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""

    def __contains__(self, word: str) -> bool:
        return word in self.words

    @property
    def is_only_checked(self) -> bool:
        """Whether the block is not to be executed."""
        return any(word in self.words for word in _ONLY_CHECKED)


def is_note(line: str) -> bool:
    """Whether a line speaks to the tests."""
    return "docs-test" in line


def read_note(line: str) -> Notes:
    """What a line says; UnknownNoteError for anything that no test heeds."""
    found = _NOTE.fullmatch(line.strip())
    if found is None:
        raise UnknownNoteError(f"not of the form <!-- docs-test: words (reason) -->: {line}")
    words: dict[str, str] = {}
    for word in shlex.split(found["words"]):
        name, equals, value = word.partition("=")
        known = name in _VALUED if equals else name in _BARE
        if not known or (name == "needs" and value != "spark"):
            raise UnknownNoteError(f"{word!r} is not known: {line}")
        words[name] = value
    reason = found["reason"] or ""
    if not words or (not reason and any(word in words for word in _NEED_A_REASON)):
        raise UnknownNoteError(f"it gives no reason, in brackets: {line}")
    return Notes(words, reason)
