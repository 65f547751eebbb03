"""When something that is due counts as late, for every page the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row

from calve.engine.triggers.tables.rows import read_incremental_trigger
from calve.state.orchestration import time_triggers
from calve.ui.formats import duration

#: What is due may be so late before it counts as late.
GRACE_MS = 3_600_000
#: So long may changes wait for more of them where the trigger sets no end to that.
_ENDLESS_MS = 24 * GRACE_MS


def late_changes(row: Row[Any], decision: Mapping[str, Any], now: int) -> str | None:
    """How long changes wait that a trigger on tables should have answered; None if they are not late."""
    if row.waiting_since is None or now <= _due_at(row, decision) + GRACE_MS:
        return None
    return f"changes wait for {duration(now - row.waiting_since)}"


def is_overdue(now: int) -> ColumnElement[bool]:
    """Whether a trigger on the time should have started something."""
    return time_triggers.c.next_at < now - GRACE_MS


def late_schedule(next_at: int, now: int) -> str:
    """How late a trigger on the time is."""
    return f"its schedule was due {duration(now - next_at)} ago"


def _due_at(row: Row[Any], decision: Mapping[str, Any]) -> int:
    """When a trigger should start for what waits: when it said that it would, or by what it allows."""
    said = decision.get("next_look")
    if said:
        return int(datetime.fromisoformat(said).timestamp() * 1000)
    return int(row.waiting_since) + _allowed(row.definition)


def _allowed(definition: str) -> int:
    """How long a trigger lets changes wait, in milliseconds."""
    try:
        trigger = read_incremental_trigger(definition)
    except ValueError:
        # Pushed by a release that knew other words: nothing is known of what it allows.
        return 0
    is_endless = trigger.has_thresholds and trigger.max_delay_ms is None
    return max(trigger.patience_ms, _ENDLESS_MS if is_endless else 0)
