"""The table that a backfill writes, and its branches, as a session names and finds them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from calve.errors import NotFoundError
from calve.spark.once.landing import MAIN, TableState
from calve.spark.once.tables import tables_of
from calve.spark.targets import dotted, parse_name

#: The property of a snapshot's summary that says which part of which backfill made it.
BACKFILL_PROPERTY = "calve.backfill"
_WAP = ("spark.wap.branch", "spark.wap.id")


def plain_name(table: str) -> str:
    """The table's name, quoted where SQL wants it."""
    return dotted(parse_name(table))


def branch_name(table: str, branch: str | None) -> str:
    """What SQL calls a branch of a table; without a branch, the table itself."""
    return plain_name(table) if branch is None else dotted((*parse_name(table), f"branch_{branch}"))


def table_state(spark: Any, table: str) -> TableState:
    """The snapshots and branches of a table, with the marks of backfills. Raises TABLE_NOT_FOUND."""
    state = tables_of(spark, BACKFILL_PROPERTY).state(parse_name(table))
    if state is None:
        raise NotFoundError("TABLE_NOT_FOUND", f"there is no table {table}", "check the name")
    return state


def head_of(state: TableState, branch: str) -> int | None:
    """The newest snapshot of a branch; None for a main without one. Raises BRANCH_NOT_FOUND."""
    if branch != MAIN and branch not in state.branches:
        there = ", ".join(sorted(state.branches)) or "none"
        raise NotFoundError(
            "BRANCH_NOT_FOUND",
            f"{state.name} has no branch {branch}; there are: {there}",
            "it was dropped by hand or has expired: start the backfill anew",
        )
    return state.branches.get(branch)


def find_mark(state: TableState, branch: str | None, marker: str) -> int | None:
    """The snapshot in the history of a branch that has a marker."""
    history = state.history([branch or MAIN])
    return next(
        (found.id for found in state.snapshots if found.id in history and found.marker == marker), None
    )


@contextmanager
def outside_branches(spark: Any) -> Iterator[None]:
    """Within the block a table's plain name is its main, whatever branch the session is set to write."""
    before = {key: found for key in _WAP if (found := spark.conf.get(key, None)) is not None}
    for key in before:
        spark.conf.unset(key)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
