"""Lines that long texts are laid against each other by: those that each has once. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence


def find_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The places of as many lines as can be that occur once in each text, in the same order in both."""
    of_old, of_new = _unique(old), _unique(new)
    return _longest_rise([(place, of_new[line]) for line, place in of_old.items() if line in of_new])


def _unique(lines: Sequence[str]) -> Mapping[str, int]:
    counts = Counter(lines)
    return {line: place for place, line in enumerate(lines) if counts[line] == 1}


def _longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest choice of pairs, given by their first number, in which the second numbers rise too."""
    # Of all rises of a length the one that ends lowest is kept: any that goes on from another can from it.
    ends: list[int] = []
    lowest: list[int] = []
    previous: list[int | None] = []
    for place, (_, second) in enumerate(pairs):
        length = bisect_left(lowest, second)
        previous.append(ends[length - 1] if length else None)
        ends[length : length + 1] = [place]
        lowest[length : length + 1] = [second]
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else None
    while at is not None:
        found.append(pairs[at])
        at = previous[at]
    return found[::-1]
