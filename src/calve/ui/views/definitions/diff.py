"""Two texts against each other, line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from calve.server.dependencies import Json

#: So many lines that are the same are shown around a change.
_CONTEXT = 3
_GAP = "…"


def number_lines(text: str) -> list[Json]:
    """The lines of a text with their numbers."""
    return [{"number": number, "text": line} for number, line in enumerate(text.splitlines(), 1)]


def diff_lines(before: str, after: str) -> list[Json]:
    """Changed lines with some around them; `sign` is +, - or a space, and … where some are left out."""
    old, new = before.splitlines(), after.splitlines()
    groups = list(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT))
    found: list[Json] = []
    for index, group in enumerate(groups):
        if index or group[0][1]:
            found.append(_line(_GAP, None, None, ""))
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                found += _same(old, old_from, old_to, new_from)
            else:
                found += [_line("-", n + 1, None, old[n]) for n in range(old_from, old_to)]
                found += [_line("+", None, n + 1, new[n]) for n in range(new_from, new_to)]
    return found


def _same(old: Sequence[str], first: int, end: int, new_first: int) -> Iterator[Json]:
    for offset in range(end - first):
        yield _line(" ", first + offset + 1, new_first + offset + 1, old[first + offset])


def _line(sign: str, old: int | None, new: int | None, text: str) -> Json:
    return {"sign": sign, "old": old, "new": new, "text": text}
