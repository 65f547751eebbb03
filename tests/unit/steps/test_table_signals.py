"""Moments as people write them, and the names of the signals about tables."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.errors import UsageError
from calve.steps.table_signals import is_table_signal, table_signal, to_epoch_ms, valid_through_signal

DAY = int(datetime(2024, 1, 31, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (DAY, DAY),
        (str(DAY), DAY),
        (" 2024-01-31 ", DAY),
        (20240131, DAY),
        ("20240131", DAY),
        ("2024-01-31T06:00:00Z", DAY + 6 * 3_600_000),
        ("2024-01-31 06:00", DAY + 6 * 3_600_000),
        ("2024-01-31T06:00:00.250+02:00", DAY + 4 * 3_600_000 + 250),
        (0, 0),
        (-1, -1),
        ("1969-12-31", -86_400_000),
    ],
)
def test_a_moment_in_any_form(written: str | int, expected: int) -> None:
    assert to_epoch_ms(written) == expected


@pytest.mark.parametrize("written", ["", "soon", 20241399, "2024-13-01", True, 1.5, None, 10**15, "9" * 19])
def test_what_is_no_moment_is_refused(written: object) -> None:
    with pytest.raises(UsageError) as caught:
        to_epoch_ms(written)
    assert caught.value.code == "VALID_THROUGH_INVALID"


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_timestamp_keeps_its_order(moment: datetime) -> None:
    shown = to_epoch_ms(moment.isoformat())
    assert 0 <= (moment - datetime.fromtimestamp(0, UTC)).total_seconds() - shown / 1000 < 0.0011


def test_signals_of_a_table() -> None:
    assert (table_signal("lake.db.t"), valid_through_signal("lake.db.t")) == (
        "table:lake.db.t",
        "valid_through:lake.db.t",
    )
    assert is_table_signal("table:lake.db.t")
    assert not is_table_signal("valid_through:lake.db.t")
