"""Which files may hold rows of a range, against the rows themselves."""

from __future__ import annotations

import itertools
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from calve.lake.file_ranges import FileRange
from calve.lake.overlap import RangeIndex, ValueRange

BOUNDS = st.none() | st.integers(0, 12)


def _in_order(pair: tuple[int | None, int | None]) -> ValueRange:
    lower, upper = pair
    if lower is None or upper is None:
        return ValueRange(lower, upper)
    return ValueRange(min(lower, upper), max(lower, upper) + 1)


RANGES = st.tuples(BOUNDS, BOUNDS).map(_in_order)
ROWS = st.lists(st.none() | st.just(math.nan) | st.integers(0, 12).map(float), min_size=1, max_size=4)


def in_range(wanted: ValueRange, value: float | None) -> bool:
    """What SQL says, in which NaN is greater than anything."""
    if value is None:
        return False
    if math.isnan(value):
        return wanted.upper is None
    return (wanted.lower is None or value >= wanted.lower) and (wanted.upper is None or value < wanted.upper)


@st.composite
def files(draw: st.DrawFn) -> tuple[list[Any], FileRange]:
    """A file's rows, and what is known of them: all, a part, or nothing."""
    rows = draw(ROWS)
    values = [x for x in rows if x is not None and not math.isnan(x)]
    nulls = draw(st.sampled_from([None in rows, None]))
    nans = draw(st.sampled_from([any(x is not None and math.isnan(x) for x in rows), None]))
    if draw(st.integers(0, 5)) == 0:
        return rows, FileRange(None, None, False, nulls, nans, "not told")
    if not values:
        return rows, FileRange(None, None, False, nulls, nans)
    wider = draw(st.integers(0, 1))
    return rows, FileRange(min(values) - wider, max(values) + wider, bool(wider), nulls, nans)


@given(files(), RANGES)
def test_no_row_is_lost_and_no_row_too_many_passes_unfiltered(
    file: tuple[list[Any], FileRange], wanted: ValueRange
) -> None:
    rows, known = file
    if any(in_range(wanted, row) for row in rows):
        assert wanted.may_meet(known)
    if wanted.holds_all(known):
        assert all(in_range(wanted, row) for row in rows)


@given(files(), st.lists(RANGES, max_size=6))
def test_an_index_finds_what_each_range_alone_would(
    file: tuple[list[Any], FileRange], ranges: list[ValueRange]
) -> None:
    expected = [at for at, wanted in enumerate(ranges) if wanted.may_meet(file[1])]
    assert sorted(RangeIndex(ranges).meeting(file[1])) == expected


@given(st.lists(st.integers(0, 30), min_size=2, max_size=8, unique=True), files())
def test_an_index_finds_the_chunks_of_a_plan(cuts: list[int], file: tuple[list[Any], FileRange]) -> None:
    edges = sorted(cuts)
    chunks = [ValueRange(None, edges[0])]
    chunks += [ValueRange(a, b) for a, b in itertools.pairwise(edges)]
    chunks.append(ValueRange(edges[-1], None))
    expected = [at for at, wanted in enumerate(chunks) if wanted.may_meet(file[1])]
    assert sorted(RangeIndex(chunks).meeting(file[1])) == expected
