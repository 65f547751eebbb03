"""A range is cut into chunks that meet, cover it, and do not overlap."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.backfill.chunking import cut, files_per_chunk, join, moment_of, value_at, widen
from calve.backfill.plan import ChunkPlan
from calve.errors import UsageError

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
MOMENTS = st.timedeltas(timedelta(0), timedelta(days=60)).map(lambda x: FIRST + x)
KINDS = st.sampled_from(["date", "day_number", "timestamp", "timestamptz", "timestamp_ns"])


def test_days_of_dates() -> None:
    assert cut("2024-02-28", "2024-03-01", "day", "date") == [
        ("2024-02-28", "2024-02-29"),
        ("2024-02-29", "2024-03-01"),
    ]


def test_days_written_as_numbers_follow_the_calendar() -> None:
    assert cut(20231231, 20240102, "day", "day_number") == [(20231231, 20240101), (20240101, 20240102)]


def test_ragged_edges_of_moments_make_smaller_chunks() -> None:
    first, second, third = cut("2024-01-01T22:30:00", "2024-01-03T01:00:00", "day", "timestamp")
    assert first == ("2024-01-01T22:30:00.000000", "2024-01-02T00:00:00.000000")
    assert second[1] == third[0] == "2024-01-03T00:00:00.000000"
    assert third[1] == "2024-01-03T01:00:00.000000"


def test_hours_keep_the_zone() -> None:
    found = cut("2024-01-01T01:00:00+02:00", "2024-01-01T01:00:00+00:00", "hour", "timestamptz")
    assert found[0] == ("2023-12-31T23:00:00.000000+00:00", "2024-01-01T00:00:00.000000+00:00")
    assert len(found) == 2


def test_a_whole_range_of_any_type_is_one_chunk() -> None:
    assert cut("a", "q", "whole", "string") == [("a", "q")]


@pytest.mark.parametrize(("chunk", "kind"), [("hour", "date"), ("day", "string"), ("day", "long")])
def test_what_has_no_such_unit_is_refused(chunk: str, kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        cut("2024-01-01", "2024-01-02", chunk, kind)
    assert caught.value.code == "CHUNK_UNSUPPORTED"


@pytest.mark.parametrize("chunk", ["week", "0files", "files", ""])
def test_a_chunk_that_is_none_is_refused(chunk: str) -> None:
    with pytest.raises(UsageError) as caught:
        files_per_chunk(chunk)
    assert caught.value.code == "CHUNK_INVALID"


def test_too_many_chunks_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        cut("0001-01-01", "9000-01-01", "day", "date")
    assert caught.value.code == "CHUNKS_TOO_MANY"


@given(MOMENTS, st.timedeltas(timedelta(days=1), timedelta(days=20)), KINDS)
def test_chunks_meet_and_cover_the_range(start: datetime, length: timedelta, kind: str) -> None:
    lower, upper = value_at(start, kind), value_at(start + length, kind)
    pairs = cut(lower, upper, "day", kind)
    assert (pairs[0][0], pairs[-1][1]) == (value_at(moment_of(lower, kind), kind), upper)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(pairs))
    moments = [moment_of(pair[0], kind) for pair in pairs] + [moment_of(upper, kind)]
    assert all(before < after for before, after in itertools.pairwise(moments))
    assert all(
        moment == moment.replace(hour=0, minute=0, second=0, microsecond=0) for moment in moments[1:-1]
    )


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 100))
def test_joined_chunks_have_about_so_many_files(sizes: list[int], files: int) -> None:
    first = date(2024, 1, 1)
    days = [(first + timedelta(days=n)).isoformat() for n in range(len(sizes) + 1)]
    chunks = [ChunkPlan(days[n], days[n + 1], size, size * 10, size * 100) for n, size in enumerate(sizes)]
    joined = join(chunks, files)
    assert sum(x.files or 0 for x in joined) == sum(sizes)
    assert all(before.upper == after.lower for before, after in itertools.pairwise(joined))
    assert all((x.files or 0) <= max(files, *sizes) for x in joined)
    # No two neighbours could have been one.
    assert all((a.files or 0) + (b.files or 0) > files for a, b in itertools.pairwise(joined))


@given(MOMENTS, st.timedeltas(timedelta(0), timedelta(days=5)), KINDS, st.sampled_from(["day", "hour"]))
def test_a_widened_range_holds_both_values(start: datetime, length: timedelta, kind: str, chunk: str) -> None:
    unit = "day" if not kind.startswith("timestamp") else chunk
    lower, upper = widen(value_at(start, kind), value_at(start + length, kind), unit, kind)
    assert moment_of(lower, kind) <= start
    assert start + length < moment_of(upper, kind) <= start + length + timedelta(days=1)


def test_what_is_no_time_has_no_upper_bound_when_widened() -> None:
    assert widen(3, 9, "whole", "long") == (3, None)
