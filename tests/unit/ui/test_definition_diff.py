from __future__ import annotations

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
