"""Time as the state keeps it: whole milliseconds since 1970, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


def now_ms() -> int:
    """The present."""
    return time.time_ns() // 1_000_000


def expiry_of(ttl: timedelta | None) -> int | None:
    """When something ends that may stay for so long from now; None: it is not said."""
    return None if ttl is None else now_ms() + int(ttl.total_seconds() * 1000)


def to_iso(timestamp_ms: int | None) -> str | None:
    """A moment as the CLI and the API show it."""
    if timestamp_ms is None:
        return None
    moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
