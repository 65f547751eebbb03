"""Two texts against each other, line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from calve.server.dependencies import Json
from calve.ui.views.definitions.anchors import find_anchors

#: So many lines that are the same are shown around a change.
_CONTEXT = 3
_GAP = "…"
#: So many lines are compared each with each; the time for that grows with the square of them.
_EACH_WITH_EACH = 1_000


def number_lines(text: str) -> list[Json]:
    """The lines of a text with their numbers."""
    return [{"number": number, "text": line} for number, line in enumerate(text.splitlines(), 1)]


def diff_lines(before: str, after: str) -> list[Json]:
    """Changed lines with some around them; `sign` is +, - or a space, and … where some are left out."""
    lines = list(_all_lines(before.splitlines(), after.splitlines()))
    changed = [place for place, one in enumerate(lines) if one["sign"] != " "]
    near = {at for place in changed for at in range(place - _CONTEXT, place + _CONTEXT + 1)}
    found: list[Json] = []
    last = -1
    for place in sorted(near.intersection(range(len(lines)))):
        if place > last + 1:
            found.append(_line(_GAP, None, None, ""))
        found.append(lines[place])
        last = place
    return found


def _all_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Json]:
    at_old = at_new = 0
    for same_old, same_new in [*_same(old, new), (len(old), len(new))]:
        yield from (_line("-", n + 1, None, old[n]) for n in range(at_old, same_old))
        yield from (_line("+", None, n + 1, new[n]) for n in range(at_new, same_new))
        if same_old < len(old):
            yield _line(" ", same_old + 1, same_new + 1, old[same_old])
        at_old, at_new = same_old + 1, same_new + 1


def _same(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The places of lines that are the same, in their order in both texts."""
    is_long = max(len(old), len(new)) > _EACH_WITH_EACH
    anchors = find_anchors(old, new) if is_long else []
    for (old_from, new_from), (old_to, new_to) in pairwise([(-1, -1), *anchors, (len(old), len(new))]):
        some_old, some_new = old[old_from + 1 : old_to], new[new_from + 1 : new_to]
        if max(len(some_old), len(some_new)) <= _EACH_WITH_EACH:
            for first, second, size in SequenceMatcher(None, some_old, some_new, False).get_matching_blocks():
                yield from ((old_from + 1 + first + n, new_from + 1 + second + n) for n in range(size))
        if old_to < len(old):
            yield old_to, new_to


def _line(sign: str, old: int | None, new: int | None, text: str) -> Json:
    return {"sign": sign, "old": old, "new": new, "text": text}
