"""Signals about tables: that one was written, and up to which time its data is complete.

table:<catalog.namespace.table>          {snapshot_id}      Calve wrote the table
valid_through:<catalog.namespace.table>  {valid_through}    all data up to that moment is there
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from calve.errors import UsageError

TABLE_PREFIX = "table:"
VALID_THROUGH_PREFIX = "valid_through:"
SNAPSHOT_ID = "snapshot_id"
VALID_THROUGH = "valid_through"

_DATE_NUMBER = re.compile(r"\d{8}")
_NUMBER = re.compile(r"[+-]?\d{1,19}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The years 1 to 9999.
FIRST_MS = -62_135_596_800_000
LAST_MS = 253_402_300_799_999


def table_signal(name: object) -> str:
    """The signal that a table was written; `name` is its full name."""
    return f"{TABLE_PREFIX}{name}"


def valid_through_signal(name: object) -> str:
    """The signal that a table is complete up to some time; `name` is its full name."""
    return f"{VALID_THROUGH_PREFIX}{name}"


def is_table_signal(signal: str) -> bool:
    """Whether a signal says that a table was written."""
    return signal.startswith(TABLE_PREFIX)


def check_valid_through(signal: str, params: Mapping[str, Any]) -> None:
    """Refuse a signal about the completeness of a table that names no moment. VALID_THROUGH_INVALID."""
    if not signal.startswith(VALID_THROUGH_PREFIX) or VALID_THROUGH not in params:
        return
    value = params[VALID_THROUGH]
    moment = to_epoch_ms(value)
    if moment != value:
        raise UsageError(
            "VALID_THROUGH_INVALID",
            f"the signal '{signal}' says {value!r}, and expected are milliseconds since 1970",
            f"send {moment}, or tell it with `calve valid-through`, which reads dates",
        )


def to_epoch_ms(value: Any) -> int:
    """A moment in milliseconds since 1970, UTC. VALID_THROUGH_INVALID if it is none.

    A number is milliseconds, unless it has eight digits that are a date: 20240131. A text is such a number,
    or a date or a timestamp of ISO 8601, in UTC where it names no zone. A date is its first moment.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _invalid(value)
    text = str(value).strip()
    if _DATE_NUMBER.fullmatch(text):
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    elif _NUMBER.fullmatch(text):
        if not FIRST_MS <= int(text) <= LAST_MS:
            raise _invalid(value)
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _invalid(value) from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def _invalid(value: Any) -> UsageError:
    return UsageError(
        "VALID_THROUGH_INVALID",
        f"found {value!r}, which is no moment",
        "write a date or timestamp such as 2024-01-31T06:00:00Z, or milliseconds since 1970",
    )
