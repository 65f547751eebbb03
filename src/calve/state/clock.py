"""Time as the state keeps it: whole milliseconds since 1970, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """The present."""
    return time.time_ns() // 1_000_000


def to_iso(timestamp_ms: int | None) -> str | None:
    """A moment as the CLI and the API show it."""
    if timestamp_ms is None:
        return None
    moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
