"""When a time trigger fires. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, takewhile

from pydantic import TypeAdapter

from calve.engine.identity import derived_uuid
from calve.engine.outbox import dump
from calve.errors import UsageError
from calve.workflow.definition.cron import DEFAULT_TIMEZONE, firings
from calve.workflow.definition.durations import needs_params, timeout_ms
from calve.workflow.definition.triggers import CronTrigger, IntervalTrigger, PredefinedTrigger, TimeTrigger

_READER: TypeAdapter[TimeTrigger] = TypeAdapter(TimeTrigger)


def read_trigger(text: str) -> TimeTrigger:
    """The trigger in a column."""
    return _READER.validate_json(text)


def trigger_text(trigger: TimeTrigger) -> str:
    """The trigger as a column keeps it: the same trigger gives the same text."""
    return dump(trigger.to_json())


def trigger_uuid(text: str) -> str:
    """What identifies a trigger within its workflow: its text."""
    return derived_uuid(text)


def timezone_of(trigger: TimeTrigger) -> str:
    """The time zone that the trigger counts in."""
    stated = None if isinstance(trigger, IntervalTrigger) else trigger.timezone
    return stated or DEFAULT_TIMEZONE


def delay_ms(trigger: TimeTrigger, workflow_id: str) -> int:
    """How much later than its time a workflow starts: up to `fuzzy_max_delay`, always the same."""
    if trigger.fuzzy_max_delay is None:
        return 0
    if needs_params(trigger.fuzzy_max_delay):
        raise UsageError(
            "TRIGGER_INVALID",
            f"fuzzy_max_delay of a trigger of '{workflow_id}' is '{trigger.fuzzy_max_delay}'",
            "write a duration: a trigger has no params",
        )
    most = timeout_ms(trigger.fuzzy_max_delay)
    seed = f"{workflow_id}:{trigger_text(trigger)}".encode()
    return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest()) % (most + 1)


def due_firings(
    trigger: TimeTrigger, watermark_ms: int, now_ms: int, limit: int, delay: int = 0
) -> list[int]:
    """The times after the watermark whose start is due, the oldest first, at most so many."""
    upcoming = _upcoming(trigger, watermark_ms)
    return list(islice(takewhile(lambda time: time + delay <= now_ms, upcoming), limit))


def next_firing(trigger: TimeTrigger, watermark_ms: int) -> int | None:
    """The first time after the watermark; None if the trigger never fires again."""
    return next(_upcoming(trigger, watermark_ms), None)


def _upcoming(trigger: TimeTrigger, watermark_ms: int) -> Iterator[int]:
    match trigger:
        case CronTrigger():
            expression = trigger.expression
        case PredefinedTrigger():
            expression = trigger.cron
        case IntervalTrigger():
            return
    after = datetime.fromtimestamp(watermark_ms / 1000, tz=UTC)
    for moment in firings(expression, trigger.timezone, after):
        yield int(moment.timestamp()) * 1000
