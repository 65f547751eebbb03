from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.ui.views.definitions import diff
from calve.ui.views.definitions.diff import diff_lines, number_lines


def test_a_diff_has_the_numbers_of_both_sides_and_leaves_out_what_is_far_away() -> None:
    before = "\n".join(f"line {number}" for number in range(1, 30))
    after = before.replace("line 20", "line twenty")
    lines = diff_lines(before, after)
    assert lines[0]["sign"] == "…"
    assert [(one["sign"], one["old"], one["new"]) for one in lines[1:]] == [
        (" ", 17, 17),
        (" ", 18, 18),
        (" ", 19, 19),
        ("-", 20, None),
        ("+", None, 20),
        (" ", 21, 21),
        (" ", 22, 22),
        (" ", 23, 23),
    ]


def test_equal_texts_have_no_difference() -> None:
    assert diff_lines("a\nb\n", "a\nb\n") == []


def test_lines_are_numbered_from_one() -> None:
    assert number_lines("a\n\nb") == [
        {"number": 1, "text": "a"},
        {"number": 2, "text": ""},
        {"number": 3, "text": "b"},
    ]


def shown(lines: list[dict[str, Any]], signs: str) -> list[str]:
    return [one["text"] for one in lines if one["sign"] in signs]


_LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=25)


@pytest.mark.parametrize("each_with_each", [1_000, 3])
@given(before=_LINES, after=_LINES)
def test_what_is_kept_and_taken_away_is_the_one_text_and_what_is_kept_and_added_the_other(
    each_with_each: int, before: list[str], after: list[str]
) -> None:
    with patch.multiple(diff, _CONTEXT=100, _EACH_WITH_EACH=each_with_each):
        lines = diff_lines("\n".join(before), "\n".join(after))
    assert before == after if not lines else (shown(lines, " -"), shown(lines, " +")) == (before, after)


def test_long_texts_are_laid_against_each_other_by_lines_that_occur_once() -> None:
    steps = [("- job:", f"  id: step_{n}", "  type: NoOp", f"  text: {n}") for n in range(1_000)]
    before = [line for step in steps for line in step]
    after = [line.replace("text: 7", "text: seven") for line in before]
    compared: list[int] = []

    def matcher(junk: None, old: list[str], new: list[str], autojunk: bool) -> SequenceMatcher[str]:
        compared.append(max(len(old), len(new)))
        return SequenceMatcher(junk, old, new, autojunk)

    with patch.object(diff, "SequenceMatcher", matcher):
        lines = diff_lines("\n".join(before), "\n".join(after))
    assert max(compared) <= 5
    assert len(shown(lines, "-")) == len(shown(lines, "+")) == 111


def test_long_texts_without_such_lines_are_told_as_a_whole() -> None:
    lines = diff_lines("\n".join(["a", "b"] * 1_000), "\n".join(["b", "a"] * 1_000))
    assert (len(shown(lines, "-")), len(shown(lines, "+"))) == (2_000, 2_000)
