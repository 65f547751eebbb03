"""Triggers on tables as the state has them, and the positions of the consumers behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, select

from calve.engine.model.statuses import RunStatus
from calve.engine.triggers.tables.decision import LastStart
from calve.engine.triggers.tables.seen import Seen
from calve.ledger.records import Position
from calve.ledger.rows import read_positions
from calve.state.orchestration import incremental_triggers, runs, workflows
from calve.state.schema import chains
from calve.workflow.definition.incremental import IncrementalTrigger

_T = incremental_triggers
_ACTIVE = (
    select(_T, workflows.c.active_version, workflows.c.created_at, runs.c.status)
    .join(workflows, workflows.c.workflow_id == _T.c.workflow_id)
    .outerjoin(
        runs,
        and_(runs.c.workflow_id == _T.c.workflow_id, runs.c.instance_id == _T.c.instance_id, runs.c.latest),
    )
    .where(_T.c.active, workflows.c.active_version.is_not(None))
    .order_by(_T.c.workflow_id, _T.c.trigger_uuid)
)


@dataclass(frozen=True, slots=True)
class TriggerRow:
    """A living trigger, at one moment."""

    workflow_id: str
    trigger_uuid: str
    definition: str
    active_version: int
    #: When the workflow was made: one that was deleted and pushed anew is another.
    made_at: int
    seen: str
    instance_id: int | None
    started_at: int | None
    waiting_since: int | None
    decision: str | None
    waits: str | None
    status: RunStatus | None

    @property
    def key(self) -> tuple[str, str]:
        """What names the trigger."""
        return self.workflow_id, self.trigger_uuid

    @property
    def trigger(self) -> IncrementalTrigger:
        """What the definition says."""
        return read_incremental_trigger(self.definition)

    @property
    def last(self) -> LastStart | None:
        """What it did last."""
        if self.started_at is None:
            return None
        outdated = Seen.from_text(self.seen).version != self.active_version
        return LastStart(self.started_at, self.instance_id, self.status, outdated)


def is_unchanged(row: TriggerRow) -> tuple[ColumnElement[bool], ...]:
    """That nobody has started by the trigger, or changed it, since it was read."""
    return (
        _T.c.workflow_id == row.workflow_id,
        _T.c.trigger_uuid == row.trigger_uuid,
        _T.c.active,
        _T.c.seen == row.seen,
        _T.c.instance_id.is_not_distinct_from(row.instance_id),
        _T.c.started_at.is_not_distinct_from(row.started_at),
    )


def read_active(connection: Connection, key: tuple[str, str] | None = None) -> list[TriggerRow]:
    """The living triggers, or the one with that key."""
    query = _ACTIVE
    if key is not None:
        query = query.where(_T.c.workflow_id == key[0], _T.c.trigger_uuid == key[1])
    return [_trigger(row) for row in connection.execute(query)]


def read_consumers(connection: Connection, consumers: Iterable[str]) -> list[Position]:
    """All known positions of some consumers."""
    wanted = sorted(set(consumers))
    return read_positions(connection, chains.c.known, chains.c.consumer.in_(wanted)) if wanted else []


# Rows are read far more often than triggers change, and triggers are frozen.
@lru_cache(maxsize=1024)
def read_incremental_trigger(text: str) -> IncrementalTrigger:
    """The trigger in a column."""
    return IncrementalTrigger.model_validate_json(text)


def _trigger(row: Row[Any]) -> TriggerRow:
    return TriggerRow(
        row.workflow_id,
        row.trigger_uuid,
        row.definition,
        row.active_version,
        row.created_at,
        row.seen,
        row.instance_id,
        row.started_at,
        row.waiting_since,
        row.decision,
        row.waits,
        None if row.status is None else RunStatus(row.status),
    )
