"""Loops laid flat: the iterations of a loop, or of a step inside loops, in their order.

An iteration is named by its rank: the numbers of the iterations around it, as in `3` or `3-1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, func, select, tuple_

from calve.engine.views.definitions import step_definitions, unwrapped
from calve.engine.views.documents import Json, load_map, plain_params, without_nones
from calve.engine.views.lookup import find_run
from calve.engine.views.numbers import is_number
from calve.engine.views.pages import PAGE_LIMIT
from calve.errors import NotFoundError, UsageError
from calve.state.orchestration import runs, steps
from calve.workflow.definition.problems import nearest

_VALUES_SHOWN = 5
_RANK = "-"


@dataclass(frozen=True)
class _Iterations:
    """The query for the iterations: `loops` are the runs of the loops around, the outermost first."""

    run: Row[Any]
    step_id: str
    loops: tuple[FromClause, ...]
    #: The step inside the loops; None if the loop itself is asked for.
    leaf: FromClause | None
    query: Select[Any]

    @property
    def order(self) -> tuple[ColumnElement[Any], ...]:
        """What the iterations are ordered by."""
        return tuple(loop.c.instance_id for loop in self.loops)

    @property
    def status(self) -> ColumnElement[Any]:
        """Where an iteration stands."""
        return self.loops[-1].c.status if self.leaf is None else self.leaf.c.status


def iterations_page(
    connection: Connection,
    place: tuple[str, int, str | int],
    step_id: str,
    *,
    limit: int = PAGE_LIMIT,
    cursor: str | None = None,
    statuses: Sequence[str] = (),
) -> Json:
    """Iterations of a step of a run, in their order, after the one whose rank is the cursor."""
    if not 1 <= limit <= PAGE_LIMIT:
        raise UsageError("PAGE_INVALID", f"found a limit of {limit}", f"ask for 1 to {PAGE_LIMIT}")
    found = _iterations(connection, place, step_id)
    query = found.query
    if statuses:
        query = query.where(found.status.in_([status.upper() for status in statuses]))
    if cursor:
        query = query.where(tuple_(*found.order) > tuple_(*_parse_rank(cursor, len(found.loops))))
    rows = connection.execute(query.order_by(*found.order).limit(limit + 1)).all()
    page = [_iteration(found, row) for row in rows[:limit]]
    return {
        "page_info": {
            "start_cursor": page[0]["iteration_rank"] if page else None,
            "end_cursor": page[-1]["iteration_rank"] if page else None,
            "has_previous_page": bool(cursor),
            "has_next_page": len(rows) > limit,
        },
        "elements": page,
    }


def one_iteration(connection: Connection, place: tuple[str, int, str | int], step_id: str, rank: str) -> Json:
    """One iteration by its rank."""
    found = _iterations(connection, place, step_id)
    numbers = _parse_rank(rank, len(found.loops))
    row = connection.execute(found.query.where(tuple_(*found.order) == tuple_(*numbers))).first()
    if row is None:
        raise NotFoundError(
            "ITERATION_NOT_FOUND", f"the step '{step_id}' has no iteration {rank}", "see the list of them"
        )
    return _iteration(found, row)


def iterations_summary(connection: Connection, place: tuple[str, int, str | int], step_id: str) -> Json:
    """How many iterations stand where, the first of them, and what the loops run over."""
    found = _iterations(connection, place, step_id)
    counted = found.query.with_only_columns(found.status, func.count()).order_by(None).group_by(found.status)
    counts = {row[0]: row[1] for row in connection.execute(counted)}
    rows = connection.execute(found.query.order_by(*found.order).limit(_VALUES_SHOWN)).all()
    shown = [_iteration(found, row) for row in rows]
    values: dict[str, list[Any]] = {}
    for iteration in shown:
        for name, value in iteration["loop_params"].items():
            values.setdefault(name, []).append(value)
    return without_nones(
        {
            "representative_iteration": shown[0] if shown else None,
            "count_by_status": counts,
            "total_count": sum(counts.values()),
            "loop_param_values": {
                name: list(dict.fromkeys(map(str, found))) for name, found in values.items()
            },
        }
    )


def _iterations(connection: Connection, place: tuple[str, int, str | int], step_id: str) -> _Iterations:
    run = find_run(connection, *place)
    defined = step_definitions(connection, run)
    path = _path(defined.values(), step_id)
    if path is None:
        guess = nearest(step_id, defined)
        raise NotFoundError(
            "STEP_NOT_FOUND",
            f"the run has no loop, and no step in a loop, '{step_id}'",
            "name a foreach or while step" if guess is None else f"did you mean '{guess}'?",
        )
    loops = tuple(runs.alias(f"loop_{index}") for index, _ in enumerate(path.loops))
    leaf = steps.alias("leaf") if path.is_inside else None
    query: Select[Any] = select(*_columns(loops, leaf))
    parent: Any = runs.c
    own = select(runs.c.id).where(
        runs.c.workflow_id == run.workflow_id,
        runs.c.instance_id == run.instance_id,
        runs.c.run_id <= run.run_id,
    )
    for index, (loop, loop_id) in enumerate(zip(loops, path.loops, strict=True)):
        # An iteration that succeeded stays with the run that ran it, and counts for the later ones too.
        if index == 0:
            query = query.where(loop.c.parent_run.in_(own))
        else:
            around = runs.alias(f"around_{index}")
            query = query.where(
                around.c.workflow_id == parent.workflow_id,
                around.c.instance_id == parent.instance_id,
                loop.c.parent_run == around.c.id,
            )
        query = query.where(loop.c.parent_step == loop_id, loop.c.latest)
        parent = loop.c
    if leaf is not None:
        newest = select(func.max(steps.c.attempt_id)).where(
            steps.c.run == leaf.c.run, steps.c.step_id == step_id
        )
        query = query.where(
            leaf.c.run == parent.id,
            leaf.c.step_id == step_id,
            leaf.c.attempt_id == newest.correlate(leaf).scalar_subquery(),
        )
    return _Iterations(run, step_id, loops, leaf, query)


@dataclass(frozen=True)
class _Path:
    loops: tuple[str, ...]
    #: True if the step is inside the last loop, false if it is that loop.
    is_inside: bool


def _path(defined: Any, step_id: str, around: tuple[str, ...] = ()) -> _Path | None:
    for step in defined:
        is_loop = "steps" in step
        if step["id"] == step_id:
            if is_loop:
                return _Path((*around, step_id), is_inside=False)
            return _Path(around, is_inside=True) if around else None
        if is_loop:
            inner = list(unwrapped(step["steps"]))
            found = _path(inner, step_id, (*around, step["id"]))
            if found is not None:
                return found
    return None


def _columns(loops: tuple[FromClause, ...], leaf: FromClause | None) -> list[ColumnElement[Any]]:
    last = loops[-1]
    made: list[ColumnElement[Any]] = [
        loop.c.instance_id.label(f"rank_{index}") for index, loop in enumerate(loops)
    ]
    made += [loop.c.params.label(f"params_{index}") for index, loop in enumerate(loops)]
    made += [last.c.workflow_id, last.c.instance_id, last.c.run_id]
    timed = last if leaf is None else leaf
    made += [timed.c.status, timed.c.created_at, timed.c.started_at, timed.c.ended_at]
    return made if leaf is None else [*made, leaf.c.attempt_id]


def _iteration(found: _Iterations, row: Row[Any]) -> Json:
    values = row._asdict()
    count = len(found.loops)
    params: Json = {}
    for index in range(count):
        params |= plain_params(load_map(values[f"params_{index}"]))
    attempt = values.get("attempt_id")
    return {
        "workflow_id": found.run.workflow_id,
        "workflow_instance_id": found.run.instance_id,
        "workflow_run_id": found.run.run_id,
        "step_id": found.step_id,
        "iteration_rank": _RANK.join(str(values[f"rank_{index}"]) for index in range(count)),
        "leaf_step_instance_ref": without_nones(
            {
                "workflow_id": row.workflow_id,
                "workflow_instance_id": row.instance_id,
                "workflow_run_id": row.run_id,
                "step_id": None if attempt is None else found.step_id,
                "step_attempt_id": attempt,
            }
        ),
        "loop_params": params,
        "step_runtime_state": without_nones(
            {
                "status": row.status,
                "create_time": row.created_at,
                "start_time": row.started_at,
                "end_time": row.ended_at,
            }
        ),
    }


def _parse_rank(rank: str, depth: int) -> list[int]:
    parts = rank.split(_RANK)
    if len(parts) != depth or not all(map(is_number, parts)):
        raise UsageError(
            "RANK_INVALID",
            f"found the iteration '{rank}', expected {depth} numbers",
            f"write it as {_RANK.join(str(n) for n in range(1, depth + 1))}",
        )
    return [int(part) for part in parts]
