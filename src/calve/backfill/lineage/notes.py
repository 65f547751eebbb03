"""What is found of a workflow's tables, step by step; several finds of one table become one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from calve.backfill.lineage.model import (
    Call,
    CaptureUse,
    Cause,
    ColumnEdge,
    Direction,
    How,
    TableRead,
    TableWrite,
    Unknown,
    WorkflowTables,
)
from calve.spark.targets import WriteKind


@dataclass(slots=True)
class _Writing:
    steps: dict[str, None] = field(default_factory=dict)
    kinds: set[WriteKind] = field(default_factory=set)
    how: set[How] = field(default_factory=set)
    by_spark: bool = True
    branches: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Reading:
    steps: dict[str, None] = field(default_factory=dict)
    how: set[How] = field(default_factory=set)


class Notes:
    """The finds of one workflow."""

    def __init__(self) -> None:
        self._reads: dict[str, _Reading] = {}
        self._writes: dict[str, _Writing] = {}
        self._columns: set[ColumnEdge] = set()
        self._captures: dict[CaptureUse, None] = {}
        self._calls: dict[Call, None] = {}
        self._unknown: dict[Unknown, None] = {}

    def read(self, step_id: str, table: str, how: Iterable[How]) -> None:
        """A step reads a table."""
        noted = self._reads.setdefault(table, _Reading())
        noted.steps[step_id] = None
        noted.how.update(how)

    def write(
        self,
        step_id: str,
        table: str,
        how: How,
        *,
        kinds: Iterable[WriteKind] = (),
        by_spark: bool = False,
        branch: str | None = None,
    ) -> None:
        """A step writes a table."""
        noted = self._writes.setdefault(table, _Writing())
        noted.steps[step_id] = None
        noted.how.add(how)
        noted.kinds.update(kinds)
        noted.by_spark &= by_spark
        noted.branches.update(() if branch is None else (branch,))

    def is_written(self, table: str) -> bool:
        """Whether some step is known to write a table."""
        return table in self._writes

    def column(self, edge: ColumnEdge) -> None:
        """A column is made from another."""
        self._columns.add(edge)

    def capture(self, use: CaptureUse) -> None:
        """A step captures the changes of tables."""
        self._captures[use] = None

    def call(self, call: Call) -> None:
        """A step starts a workflow."""
        self._calls[call] = None

    def unknown(self, step_id: str, directions: Iterable[Direction], cause: Cause, why: str) -> None:
        """Something of a step could not be told."""
        self._unknown[Unknown(step_id, frozenset(directions), cause, why)] = None

    def result(self, workflow_id: str, version: int) -> WorkflowTables:
        """All of it."""
        return WorkflowTables(
            workflow_id,
            version,
            reads=tuple(
                TableRead(table, tuple(x.steps), frozenset(x.how)) for table, x in sorted(self._reads.items())
            ),
            writes=tuple(
                TableWrite(
                    table,
                    tuple(x.steps),
                    frozenset(x.kinds),
                    frozenset(x.how),
                    x.by_spark,
                    frozenset(x.branches),
                )
                for table, x in sorted(self._writes.items())
            ),
            columns=tuple(sorted(self._columns)),
            captures=tuple(self._captures),
            calls=tuple(self._calls),
            unknown=tuple(self._unknown),
        )
