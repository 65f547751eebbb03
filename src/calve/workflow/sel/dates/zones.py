"""Time zones by name or offset."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC as UTC_TZ
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from calve.workflow.sel.errors import value_error

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times are naive on purpose: their zone stands beside them
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC_TZ)
_MS = timedelta(milliseconds=1)
_OFFSET = re.compile(r"([+-])(\d{2})(?::?(\d{2}))?")


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone and the rules behind its name."""

    id: str
    tz: tzinfo

    def offset_at(self, millis: int) -> int:
        """How far local time is ahead of UTC at an instant, in milliseconds."""
        if self.tz is UTC_TZ:
            return 0
        return _milliseconds((_EPOCH_UTC + timedelta(milliseconds=millis)).astimezone(self.tz).utcoffset())

    def to_instant(self, local: datetime, near: int | None = None) -> int:
        """The instant of a local time.

        A time that the clock passes twice is the one with the offset of `near`, else the earlier one. A time
        that it jumps over is moved on by the jump.
        """
        local_ms = milliseconds_since_epoch(local)
        if self.tz is UTC_TZ:
            return local_ms
        if near is not None:
            offset = self.offset_at(near)
            if self.offset_at(local_ms - offset) == offset:
                return local_ms - offset
        return local_ms - _milliseconds(local.replace(tzinfo=self.tz, fold=0).utcoffset())

    def __str__(self) -> str:
        return self.id


UTC = Zone("UTC", UTC_TZ)


def milliseconds_since_epoch(local: datetime) -> int:
    """A naive time as milliseconds since 1970, as if it were in UTC."""
    return (local - EPOCH) // _MS


def _milliseconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset // _MS


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones())


@lru_cache(maxsize=1024)
def zone_for(name: str) -> Zone:
    """The zone of a name like Europe/Paris, or of an offset like +01:00."""
    if name in ("UTC", "Z", "GMT", "+00:00"):
        return UTC
    # Only names from the list go further: a name must never become a path.
    if name in _names():
        return Zone(name, ZoneInfo(name))
    found = _OFFSET.fullmatch(name)
    if found is None or int(found[2]) > 23 or int(found[3] or 0) > 59:
        raise value_error(
            f"'{name[:40]}' is not a time zone", "Use a name like America/Los_Angeles, or +01:00."
        )
    ahead = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return Zone(f"{found[1]}{found[2]}:{found[3] or '00'}", timezone(ahead if found[1] == "+" else -ahead))
