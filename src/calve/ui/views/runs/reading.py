"""A run as it stands in the state: its steps with all their attempts, and the way of each attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.views.definitions import step_definitions
from calve.engine.views.documents import Json, load_map
from calve.engine.views.lookup import find_run
from calve.state.orchestration import events, runs, steps

#: When an attempt entered which status, in order.
Way = list[tuple[str, int]]
_RUNS_SHOWN = 50
#: What is told of an attempt; its params and artifacts may be large, and are on its own page.
_COLUMNS = (
    steps.c.step_id,
    steps.c.attempt_id,
    steps.c.status,
    steps.c.carried,
    steps.c.handle,
    steps.c.progress,
    steps.c.error,
    steps.c.created_at,
    steps.c.started_at,
    steps.c.ended_at,
    steps.c.wake_at,
)


@dataclass(frozen=True, slots=True)
class RunRead:
    """What a page about a run is made from."""

    run: Row[Any]
    #: In their order, with those that the definition does not know at the end.
    step_ids: tuple[str, ...]
    definitions: Mapping[str, Json]
    attempts: Mapping[str, Sequence[Row[Any]]]
    ways: Mapping[tuple[str, int], Way]
    now: int

    @property
    def is_over(self) -> bool:
        """True once the run has ended."""
        return RunStatus(self.run.status).is_terminal

    def newest(self, step_id: str) -> Row[Any] | None:
        """The newest attempt of a step; None if it has not begun."""
        found = self.attempts.get(step_id)
        return found[-1] if found else None

    def status(self, step_id: str) -> str:
        """Where a step stands."""
        newest = self.newest(step_id)
        return StepStatus.NOT_CREATED.value if newest is None else str(newest.status)


def read_run(
    connection: Connection, workflow_id: str, instance_id: int, run_id: str | int, now: int
) -> RunRead:
    """A run by its number, or the latest. Raises RUN_NOT_FOUND and the like."""
    run = find_run(connection, workflow_id, instance_id, run_id)
    definitions = step_definitions(connection, run)
    attempts: dict[str, list[Row[Any]]] = {}
    query: Select[Any] = select(*_COLUMNS).where(steps.c.run == run.id)
    for row in connection.execute(query.order_by(steps.c.created_at, steps.c.attempt_id)):
        attempts.setdefault(row.step_id, []).append(row)
    return RunRead(
        run, tuple({**definitions, **attempts}), definitions, attempts, read_ways(connection, run.id), now
    )


def read_ways(connection: Connection, run: int, step_id: str | None = None) -> dict[tuple[str, int], Way]:
    """The way of every attempt of a run, or of those of one step."""
    query = select(events.c.step_id, events.c.attempt_id, events.c.data).where(
        events.c.run == run, events.c.kind == "step"
    )
    if step_id is not None:
        query = query.where(events.c.step_id == step_id)
    found: dict[tuple[str, int], Way] = {}
    for row in connection.execute(query.order_by(events.c.id)):
        way = found.setdefault((row.step_id, row.attempt_id), [])
        way += [(status, at) for status, at in load_map(row.data).get("path", [])]
    return found


def read_siblings(connection: Connection, run: Row[Any]) -> list[Row[Any]]:
    """The newest runs of the instance, this one perhaps among them; the newest first."""
    query: Select[Any] = select(runs.c.run_id, runs.c.status, runs.c.created_at).where(
        runs.c.workflow_id == run.workflow_id, runs.c.instance_id == run.instance_id
    )
    return list(connection.execute(query.order_by(runs.c.run_id.desc()).limit(_RUNS_SHOWN)))
