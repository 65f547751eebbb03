"""What captures saved, measured against the window of time that a job without them would read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calve.lake import Amount
from calve.lake.model import Changes
from calve.ledger.records import CaptureRecord


def savings_of(consumer: str, records: Iterable[CaptureRecord]) -> dict[str, Any]:
    """The sum over captures of what the window would have read, less what the capture holds.

    Captures without a measure are left out; `unknown` counts those for which it could not be told.
    """
    counted = unknown = 0
    window, captured = Amount(), Amount()
    for record in records:
        amounts = [x.amount for x in record.lookback if x.amount is not None]
        if len(amounts) < len(record.lookback):
            unknown += 1
        elif amounts:
            counted += 1
            window = sum(amounts, window)
            captured = sum(map(_read_of, record.changes), captured)
    return {
        "consumer": consumer,
        "captures": counted,
        "unknown": unknown,
        **(window - captured).to_json(),
        "lookback": window.to_json(),
        "captured": captured.to_json(),
    }


def _read_of(changes: Changes) -> Amount:
    came = Amount(changes.files, changes.records, changes.bytes)
    return came + Amount(changes.removed_files, changes.removed_records, changes.removed_bytes)
