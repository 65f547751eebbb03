"""An attempt of a step as it stands in the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from calve.engine.views.definitions import step_definitions
from calve.engine.views.documents import Json, load_map
from calve.engine.views.lookup import LATEST, find_run, parse_number
from calve.engine.views.steps import step_attempt
from calve.state.orchestration import events, runs, steps
from calve.ui.views.runs.reading import Way, read_ways

_EVENTS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class StepRead:
    """What a page about a step is made from. `attempt` None: it has not begun in this run."""

    run: Row[Any]
    step_id: str
    definition: Json
    #: Number and status of each attempt, in order.
    attempts: Sequence[Row[Any]]
    attempt: Row[Any] | None
    way: Way
    #: The run that has the log: an earlier one, where the step was not run again.
    log_run: int
    actions: Sequence[Json]


def read_step(
    connection: Connection, place: tuple[str, int, str | int], step_id: str, attempt: str
) -> StepRead:
    """A step of a run, with one of its attempts. Raises STEP_NOT_FOUND or ATTEMPT_NOT_FOUND."""
    run = find_run(connection, *place)
    definition = step_definitions(connection, run).get(step_id)
    mine = (steps.c.run == run.id, steps.c.step_id == step_id)
    query: Select[Any] = select(steps.c.attempt_id, steps.c.status).where(*mine)
    attempts = connection.execute(query.order_by(steps.c.attempt_id)).all()
    number = _choose(attempts, attempt)
    if number is None and (definition is None or attempt != LATEST):
        # It is not there: this says what is.
        step_attempt(connection, *place, step_id, attempt)
    row = connection.execute(select(steps).where(*mine, steps.c.attempt_id == number)).first()
    way = {} if row is None else read_ways(connection, run.id, step_id)
    return StepRead(
        run,
        step_id,
        definition or {},
        attempts,
        row,
        way.get((step_id, number or 0), []),
        _log_run(connection, run, row),
        _read_actions(connection, run.id, step_id),
    )


def _choose(attempts: Sequence[Row[Any]], attempt: str) -> int | None:
    numbers = [int(row.attempt_id) for row in attempts]
    if attempt.lower() == LATEST:
        return numbers[-1] if numbers else None
    wanted = parse_number(attempt, "attempt")
    return wanted if wanted in numbers else None


def _log_run(connection: Connection, run: Row[Any], row: Row[Any] | None) -> int:
    if row is None or not row.carried:
        return int(run.run_id)
    query = (
        select(runs.c.run_id)
        .join(steps, steps.c.run == runs.c.id)
        .where(
            runs.c.workflow_id == run.workflow_id,
            runs.c.instance_id == run.instance_id,
            steps.c.step_id == row.step_id,
            steps.c.attempt_id == row.attempt_id,
            steps.c.uuid == row.uuid,
            ~steps.c.carried,
        )
    )
    return int(connection.execute(query.limit(1)).scalar() or run.run_id)


def _read_actions(connection: Connection, run: int, step_id: str) -> list[Json]:
    """What people did to the step, the newest first."""
    query = (
        select(events.c.at, events.c.data)
        .where(events.c.run == run, events.c.kind == "action", events.c.step_id == step_id)
        .order_by(events.c.id.desc())
        .limit(_EVENTS_SHOWN)
    )
    return [{"at": row.at, **load_map(row.data)} for row in connection.execute(query)]
