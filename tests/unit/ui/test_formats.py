"""Numbers and times as people read them."""

from __future__ import annotations

import pytest

from calve.ui.formats import absolute, duration, iso, plain_stamp


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "–"),
        (7, "7 ms"),
        (1_500, "1.5 s"),
        (59_000, "59 s"),
        (90_000, "1 min 30 s"),
        (900_000, "15 min"),
        (3_600_000, "1 h"),
        (3_900_000, "1 h 05 min"),
        (7 * 86_400_000, "7 d"),
        (86_400_000 + 3_600_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_two_units_and_none_that_is_zero(milliseconds: int | None, text: str) -> None:
    assert duration(milliseconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-10-23T01:37:00.000000+00:00", "2026-10-23 01:37:00 UTC"),
        ("2026-10-23T01:37:00.250000", "2026-10-23 01:37:00.250000"),
        ("2026-10-23", "2026-10-23"),
        ("The T of 2026", "The T of 2026"),
        (42, "42"),
    ],
)
def test_a_timestamp_of_a_range_is_told_without_what_says_nothing(value: object, text: str) -> None:
    assert plain_stamp(value) == text


@pytest.mark.parametrize("moment", [2**60, -(2**60), 253_402_300_799_999 + 1, -62_135_596_800_001])
def test_a_moment_that_is_no_date_is_told_as_the_number_it_is(moment: int) -> None:
    assert absolute(moment, "Asia/Tokyo") == iso(moment) == f"{moment} ms"


def test_the_last_moment_of_all_is_told_in_any_zone() -> None:
    assert absolute(253_402_300_799_000) == "9999-12-31 23:59:59 UTC"
    assert absolute(253_402_300_799_000, "Asia/Tokyo") == "253402300799000 ms"
