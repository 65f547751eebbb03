"""Forgetting instances that ended long ago, with all that they left behind, a bounded piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, or_, select

from calve.engine.catalog.deletion import delete_runs
from calve.engine.catalog.rows import find_locked
from calve.engine.model.statuses import RunStatus
from calve.state.batches import in_batches
from calve.state.orchestration import runs, workflows

#: So many instances are looked at in one piece.
CHUNK = 100
_PAIRS = 100
_COLUMNS = (
    runs.c.id, runs.c.workflow_id, runs.c.instance_id, runs.c.run_id, runs.c.status, runs.c.blocking,
    runs.c.inline, runs.c.parent_run, runs.c.ended_at,
)  # fmt: skip
_Name = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Retention:
    """What stays: all that ended at `before_ms` or later, and the newest instances of each workflow."""

    before_ms: int
    instances: int
    workflow_id: str | None = None


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A run that is forgotten, by its names."""

    workflow_id: str
    instance_id: int
    run_id: int


@dataclass(frozen=True, slots=True)
class Piece:
    """What one piece came to. `next_run` is where the next one begins; None at the end."""

    instances: int
    runs: tuple[RunPlace, ...]
    next_run: int | None


def prune_piece(
    connection: Connection, retention: Retention, first_run: int, *, is_trial: bool = False
) -> Piece:
    """Forget the next instances that nobody called, and all that was called or looped over within them.

    Call it until there is no next one, each time in a transaction of its own. An instance stays while
    anything within it has not ended, or has ended too late, or blocks a strict sequence.
    """
    looked_at = connection.execute(_candidates(retention, first_run)).all()
    if not is_trial:
        # Nobody starts a run of an instance again while it goes. Always in one order.
        for workflow_id in sorted({row.workflow_id for row in looked_at}):
            find_locked(connection, workflow_id)
    trees = _trees(connection, [row for row in looked_at if _may_go(row, retention)])
    going = [tree for tree in trees if all(_may_go(row, retention) for row in tree)]
    found = [row for tree in going for row in tree]
    if not is_trial:
        for some in in_batches([row.id for row in found]):
            delete_runs(connection, some)
    places = tuple(RunPlace(row.workflow_id, row.instance_id, row.run_id) for row in found)
    return Piece(len(going), places, looked_at[-1].id + 1 if len(looked_at) == CHUNK else None)


def _candidates(retention: Retention, first_run: int) -> Select[Any]:
    """Instances by their newest runs, the oldest first: runs are numbered as they are made."""
    query = (
        select(*_COLUMNS)
        .join(workflows, workflows.c.workflow_id == runs.c.workflow_id)
        .where(
            runs.c.id >= first_run,
            runs.c.parent_run.is_(None),
            ~runs.c.inline,
            runs.c.latest,
            runs.c.created_at < retention.before_ms,
            runs.c.instance_id <= workflows.c.latest_instance_id - retention.instances,
        )
    )
    if retention.workflow_id is not None:
        query = query.where(runs.c.workflow_id == retention.workflow_id)
    return query.order_by(runs.c.id).limit(CHUNK)


def _trees(connection: Connection, instances: Sequence[Row[Any]]) -> list[list[Row[Any]]]:
    """Of each instance all its runs, and all that was called or looped over within them."""
    trees: dict[_Name, list[Row[Any]]] = {_name(row): [] for row in instances}
    #: The instance at the top, by the key of a run.
    tops: dict[int, _Name] = {}
    level = [(row, _name(row)) for row in _runs_of(connection, list(trees))]
    while level:
        for row, top in level:
            tops[row.id] = top
            trees[top].append(row)
        called = [(row, tops[row.parent_run]) for row in _called(connection, [row.id for row, _ in level])]
        # Of an instance that was called, all runs go: one that was restarted by hand is no child by itself.
        whole = {_name(row): top for row, top in called if not row.inline}
        again = [(row, whole[_name(row)]) for row in _runs_of(connection, list(whole))]
        level = list({row.id: (row, top) for row, top in (*called, *again) if row.id not in tops}.values())
    return list(trees.values())


def _called(connection: Connection, parents: Sequence[int]) -> list[Row[Any]]:
    query: Select[Any] = select(*_COLUMNS).where(runs.c.parent_run.is_not(None))
    found = (connection.execute(query.where(runs.c.parent_run.in_(some))) for some in in_batches(parents))
    return [row for rows in found for row in rows]


def _runs_of(connection: Connection, names: Sequence[_Name]) -> list[Row[Any]]:
    query: Select[Any] = select(*_COLUMNS)
    # One by one: of a list of pairs, SQLite would read the whole index.
    found = (
        connection.execute(query.where(or_(*(_is(name) for name in some))))
        for some in in_batches(names, _PAIRS)
    )
    return [row for rows in found for row in rows]


def _is(name: _Name) -> ColumnElement[bool]:
    return and_(runs.c.workflow_id == name[0], runs.c.instance_id == name[1])


def _name(row: Row[Any]) -> _Name:
    return row.workflow_id, row.instance_id


def _may_go(row: Row[Any], retention: Retention) -> bool:
    is_over = RunStatus(row.status).is_terminal and not row.blocking
    return is_over and row.ended_at is not None and row.ended_at < retention.before_ms
