from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from calve.workflow.sel.errors import SelError
from calve.workflow.sel.limits import Limits, Meter
from calve.workflow.sel.regex import engine

ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "\\d", "\\w", "\\b", "^", "$", "(a)", "(?:b|a)", "(?=a)"]
)
PARTS = st.tuples(ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "*?", "+?"])).map("".join)
#: Never empty matches: after one, Java and Python go on in different ways.
PATTERNS = st.lists(PARTS, max_size=4).map(lambda parts: "a" + "".join(parts))


def _quantified_nothing(pattern: str) -> bool:
    # The two differ on quantifiers of things without width, which nobody writes.
    return re.search(r"(\\b|\^|\$|\(\?=a\))[*+?{]", pattern) is not None


@given(PATTERNS, st.text("ab1 ", max_size=8))
def test_replacing_agrees_with_the_matcher_of_python(pattern: str, text: str) -> None:
    if _quantified_nothing(pattern):
        return
    made = engine.replace_all(Meter(Limits()), pattern, "<$0>", text)
    assert made == re.sub(pattern, lambda found: f"<{found[0]}>", text)


@given(st.text(st.sampled_from("ab1.^$*+?{}[]()|\\dQEpP<>=!&-:i,#"), max_size=14), st.text("ab1", max_size=6))
def test_any_pattern_is_used_or_refused(pattern: str, text: str) -> None:
    meter = Meter(Limits(visits=20_000))
    try:
        engine.split(meter, pattern, text, 0)
        engine.replace_all(meter, pattern, pattern, text)
    except SelError as error:
        assert error.code in ("SEL_VALUE", "SEL_LIMIT")  # noqa: PT017 - most patterns are fine
