"""Cron expressions: five Unix fields, or Quartz' six or seven, brought to one form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from calve.workflow.definition.base import refuse

PREDEFINED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
CRON_FORM = "minute hour day month weekday, or one of " + ", ".join(PREDEFINED)
DEFAULT_TIMEZONE = "UTC"

_UNIX_FIELDS = 5
_QUARTZ_FIELDS = (6, 7)
# In Quartz the week runs from 1 (Sunday) to 7 (Saturday); in Unix from 0 to 6.
_QUARTZ_WEEKDAY = re.compile(r"(?<![#/\d])[1-7](?!\d)")
# A moment from which every expression that fires at all fires within the horizon of cronsim.
_ANY_MOMENT = datetime(2024, 1, 1, tzinfo=UTC)


def unix_cron(expression: str) -> str:
    """The expression as cronsim reads it; CRON_INVALID if it is none, or never fires."""
    text = expression.strip()
    if text.startswith("@"):
        return _predefined(text)
    fields = text.split()
    if len(fields) in _QUARTZ_FIELDS:
        fields = _from_quartz(expression, fields)
    elif len(fields) != _UNIX_FIELDS:
        raise refuse("CRON_INVALID", f"'{expression}' has {len(fields)} fields", expected=CRON_FORM)
    made = " ".join(fields)
    try:
        next(CronSim(made, _ANY_MOMENT))
    except CronSimError as error:
        raise refuse(
            "CRON_INVALID", f"'{expression}' is not a cron expression: {error}", expected=CRON_FORM
        ) from error
    except StopIteration:
        raise refuse("CRON_INVALID", f"'{expression}' never fires", expected=CRON_FORM) from None
    return made


def firings(expression: str, timezone: str | None, after: datetime) -> Iterator[datetime]:
    """The moments after `after` at which the expression fires in its time zone, without end."""
    local = after.astimezone(zone(timezone or DEFAULT_TIMEZONE))
    yield from CronSim(unix_cron(expression), local)


@cache
def zone(name: str) -> ZoneInfo:
    """The time zone of that name; TIMEZONE_UNKNOWN if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise refuse(
            "TIMEZONE_UNKNOWN",
            f"'{name}' is not a time zone",
            expected="a name such as UTC or Europe/Berlin",
            among=tuple(available_timezones()),
        ) from None


def _predefined(text: str) -> str:
    found = PREDEFINED.get(text.lower())
    if found is None:
        raise refuse(
            "CRON_INVALID", f"'{text}' is not a schedule", expected=CRON_FORM, among=tuple(PREDEFINED)
        )
    return found


def _from_quartz(expression: str, fields: list[str]) -> list[str]:
    second, minute, hour, day, month, weekday = fields[:6]
    year = fields[6] if len(fields) == _QUARTZ_FIELDS[1] else "*"
    if second != "0" or year != "*":
        raise refuse(
            "CRON_INVALID",
            f"'{expression}' asks for second {second} and year {year}",
            expected="second 0 and every year",
        )
    if "W" in day.upper():
        raise refuse("CRON_INVALID", f"'{expression}' asks for the nearest weekday ('W')", expected=CRON_FORM)
    shifted = _QUARTZ_WEEKDAY.sub(lambda found: str(int(found[0]) - 1), weekday)
    return [minute, hour, day.replace("?", "*"), month, shifted.replace("?", "*")]
