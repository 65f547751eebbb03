"""Whether a trigger on tables starts its workflow now. Pure: what it is told is all that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from calve.engine.model.statuses import RunStatus
from calve.errors import CalveError
from calve.state.clock import to_iso
from calve.workflow.definition.incremental import IncrementalTrigger

#: What cannot be read is tried again after so long, should nothing tell of a change before.
ERROR_LOOK_MS = 30_000


class What(StrEnum):
    """What a look leads to."""

    START = "start"
    NOTHING = "nothing"  # there is nothing to process
    RUNNING = "running"  # what it started last has not ended: one more follows if there is still something
    WAITING = "waiting"  # there is something, but not yet enough, or too early
    HELD = "held"  # what it started last got nowhere, and nothing has changed since
    ERROR = "error"  # a table cannot be read


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much waits in a table."""

    snapshots: int = 0
    files: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class TableLook:
    """What waits in one table for one consumer. `consumer` None: since the trigger's own last start."""

    table: str
    branch: str
    consumer: str | None = None
    head: int | None = None
    waiting: Amounts = Amounts()
    #: When the oldest of it was committed.
    oldest_ms: int | None = None
    #: How many of the snapshots that count are newer than what the last start has seen.
    fresh: int = 0
    #: Whether the consumer has accounted for more than it had at the last start.
    has_progressed: bool = False
    error: CalveError | None = None


@dataclass(frozen=True, slots=True)
class LastStart:
    """What the trigger did last. `instance_id` None: the start was refused; `status` None: it is gone."""

    at_ms: int
    instance_id: int | None
    status: RunStatus | None
    #: Whether the workflow has another active version by now.
    is_outdated: bool = False

    @property
    def is_running(self) -> bool:
        """True if the instance has not ended."""
        return self.status is not None and not self.status.is_terminal


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from a look, and why; `look_at_ms` is when time alone may change it."""

    what: What
    why: str
    look_at_ms: int | None = None
    waiting_since_ms: int | None = None


def decide(
    trigger: IncrementalTrigger,
    tables: Sequence[TableLook],
    last: LastStart | None,
    waiting_since_ms: int | None,
    now_ms: int,
) -> Decision:
    """Start only if there is something to process, one instance at a time, and never in a hot loop."""
    if last is not None and last.is_running:
        return Decision(What.RUNNING, f"instance {last.instance_id} has not ended")
    errors = [found.error for found in tables if found.error is not None]
    if errors:
        return Decision(What.ERROR, errors[0].message, look_at_ms=now_ms + ERROR_LOOK_MS)
    if not any(found.waiting.snapshots for found in tables):
        return Decision(What.NOTHING, "there is nothing to process")
    held = None if last is None else _held(last, tables)
    if held is not None:
        return Decision(What.HELD, held)
    oldest = [found.oldest_ms for found in tables if found.oldest_ms is not None]
    # A writer's clock may be ahead: what was seen to wait has waited since then at least.
    since = min([*oldest, now_ms if waiting_since_ms is None else waiting_since_ms])
    return _timed(trigger, tables, last, since, now_ms)


def _held(last: LastStart, tables: Sequence[TableLook]) -> str | None:
    """Why what waits starts nothing by itself; None if it does."""
    if last.is_outdated or any(found.fresh for found in tables):
        return None
    if last.instance_id is None:
        return "the last start was refused, and nothing has changed since"
    if last.status is None:
        return None
    if last.status is not RunStatus.SUCCEEDED:
        return f"instance {last.instance_id} is {last.status.value}, and nothing has changed since"
    if any(found.has_progressed and found.waiting.snapshots for found in tables):
        return None
    return f"instance {last.instance_id} succeeded and accounted for nothing, and nothing has changed since"


def _timed(
    trigger: IncrementalTrigger,
    tables: Sequence[TableLook],
    last: LastStart | None,
    since: int,
    now_ms: int,
) -> Decision:
    total = sum_up(tables)
    if trigger.has_thresholds and not _is_enough(trigger, total):
        delay = trigger.max_delay_ms
        due = None if delay is None else since + delay
        if due is None or now_ms < due:
            until = "" if due is None else f" until {to_iso(due)}"
            return Decision(
                What.WAITING, f"it waits for more{until}: {_shown(total)}", due, waiting_since_ms=since
            )
    if last is not None and trigger.every_ms is not None and now_ms < last.at_ms + trigger.every_ms:
        due = last.at_ms + trigger.every_ms
        return Decision(What.WAITING, f"the next start is due at {to_iso(due)}", due, waiting_since_ms=since)
    return Decision(What.START, _shown(total))


def sum_up(tables: Sequence[TableLook]) -> Amounts:
    """What waits in all tables; of several consumers of a table, for the one that is furthest behind."""
    most: dict[tuple[str, str], Amounts] = {}
    for found in tables:
        before = most.get((found.table, found.branch), Amounts())
        most[(found.table, found.branch)] = Amounts(
            max(before.snapshots, found.waiting.snapshots),
            max(before.files, found.waiting.files),
            max(before.rows, found.waiting.rows),
            max(before.bytes, found.waiting.bytes),
        )
    return Amounts(
        sum(x.snapshots for x in most.values()),
        sum(x.files for x in most.values()),
        sum(x.rows for x in most.values()),
        sum(x.bytes for x in most.values()),
    )


def _is_enough(trigger: IncrementalTrigger, total: Amounts) -> bool:
    return any(
        least is not None and found >= least
        for least, found in (
            (trigger.min_files, total.files),
            (trigger.min_rows, total.rows),
            (trigger.min_bytes, total.bytes),
        )
    )


def _shown(total: Amounts) -> str:
    return f"{total.snapshots} snapshots, {total.files} files, {total.rows} rows, {total.bytes} bytes wait"
