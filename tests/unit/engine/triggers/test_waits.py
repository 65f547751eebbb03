"""Whether a workflow falls behind, from how long changes had waited at each start."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.engine.triggers.tables.waits import Waits

MINUTE = 60_000
WAITS = st.lists(st.integers(0, 10**9), max_size=8)


def waits(*minutes: float) -> Waits:
    return Waits(tuple(int(x * MINUTE) for x in minutes))


@pytest.mark.parametrize(
    ("found", "allowed", "expected"),
    [
        (waits(), 0, False),
        (waits(5, 10), 0, False),
        (waits(5, 10, 20), 0, True),
        (waits(90, 60, 5, 10, 20), 0, True),
        (waits(5, 20, 10), 0, False),
        (waits(20, 20, 20), 0, False),
        (waits(20, 22, 24), 0, False),
        (waits(0, 0.2, 0.8), 0, False),
        (waits(5, 10, 20), 20, False),
        (waits(5, 10, 20), 18, True),
    ],
)
def test_three_longer_waits_in_a_row_past_what_is_allowed_are_a_growing_lag(
    found: Waits, allowed: int, expected: bool
) -> None:
    assert found.fall_behind(allowed * MINUTE) is expected


@given(WAITS)
def test_the_newest_waits_are_kept(told: list[int]) -> None:
    made = Waits()
    for wait in told:
        made = made.with_start(wait)
    assert list(made.last_ms) == told[-5:]
    assert Waits.from_text(made.to_text()) == made


def test_a_writer_whose_clock_is_ahead_makes_no_negative_wait() -> None:
    assert Waits().with_start(-5) == Waits((0,))


def test_a_trigger_that_never_started_anything_has_none() -> None:
    assert Waits.from_text(None) == Waits()


@given(WAITS, st.integers(0, 10**6))
def test_a_lag_that_shrinks_is_never_told(told: list[int], allowed: int) -> None:
    assert not Waits(tuple(sorted(told, reverse=True))).fall_behind(allowed)
