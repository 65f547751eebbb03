"""Trying again when another process came first."""

from __future__ import annotations

from collections.abc import Callable

from calve.errors import ConflictError
from calve.ledger.records import CaptureRecord
from calve.ledger.store import MovedError

# Each round that is lost means that another process took a capture of the same consumer.
_ROUNDS = 100


def take_in_rounds(consumer: str, attempt: Callable[[], CaptureRecord]) -> CaptureRecord:
    """What an attempt gives that nobody came before. Raises CAPTURE_CONTENDED if somebody always does."""
    for _ in range(_ROUNDS):
        try:
            return attempt()
        except MovedError:
            continue
    raise ConflictError(
        "CAPTURE_CONTENDED",
        f"other processes took captures for consumer {consumer} in {_ROUNDS} rounds",
        "capture again, or with fewer processes at once",
    )
