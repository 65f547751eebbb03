"""Encoded values sort as the values do, and texts and numbers never meet."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from calve.engine.signals.encoding import LONG_MAX, LONG_MIN, SignalValue, encode, holds, span
from calve.workflow.definition.signals import Operator

longs = st.integers(LONG_MIN, LONG_MAX)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.one_of(longs, texts, st.integers(-3, 3), st.sampled_from(["", "0", "1", "-1", "9", "10"]))


@given(longs, longs)
@example(LONG_MIN, LONG_MAX)
@example(-1, 0)
def test_numbers_sort_as_numbers(one: int, other: int) -> None:
    assert (encode(one) < encode(other)) == (one < other)
    assert (encode(one) == encode(other)) == (one == other)


@given(texts, texts)
@example("", "\x00")
@example("a", "ab")
@example("\uffff", "\U00010000")
def test_texts_sort_by_code_points(one: str, other: str) -> None:
    assert (encode(one) < encode(other)) == (one < other)
    assert (encode(one) == encode(other)) == (one == other)


@given(values)
def test_the_code_is_made_of_digits_so_that_every_collation_sorts_it_alike(value: SignalValue) -> None:
    assert encode(value).isascii()
    assert encode(value).isdigit()


@given(longs, texts, st.sampled_from(Operator))
@example(1, "1", Operator.EQUAL)
@example(0, "1", Operator.LESS)
def test_a_number_and_a_text_never_compare(number: int, text: str, operator: Operator) -> None:
    assert not holds(number, operator, text)
    assert not holds(text, operator, number)


@given(values, st.sampled_from(Operator), values)
def test_the_span_in_the_index_holds_exactly_the_values_that_compare_so(
    found: SignalValue, operator: Operator, value: SignalValue
) -> None:
    wanted, code = span(operator, value), encode(found)
    above = code >= wanted.low if wanted.low_inclusive else code > wanted.low
    below = code <= wanted.high if wanted.high_inclusive else code < wanted.high
    assert (above and below) == holds(found, operator, value)
