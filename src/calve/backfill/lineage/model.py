"""What is known of the tables of a workflow: read, written, captured, and what could not be told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from calve.spark.targets import WriteKind


class How(StrEnum):
    """From what a read or a write is known."""

    #: A capture step names it; reads only.
    CAPTURE = "capture"
    #: SQL says it.
    SQL = "sql"
    #: A pattern's options say it.
    PATTERN = "pattern"
    #: `reads:` or `writes:` of a step say it.
    DECLARED = "declared"


class Cause(StrEnum):
    """Why something could not be told."""

    #: A param that is known only when the workflow runs.
    PARAM = "param"
    #: SQL that is not understood.
    SCRIPT = "script"
    #: Code that is not SQL, in a step that declares nothing.
    UNDECLARED = "undeclared"
    #: A table, or files, that no catalog of the settings has.
    OUTSIDE = "outside"
    #: A name that is not the name of a table.
    NAME = "name"


class Direction(StrEnum):
    """What of a step could not be told."""

    READS = "reads"
    WRITES = "writes"


@dataclass(frozen=True, slots=True, order=True)
class ColumnEdge:
    """A column of one table that a column of another is made from."""

    source_table: str
    source_column: str
    target_table: str
    target_column: str

    def to_json(self) -> dict[str, str]:
        """The edge for programs."""
        return {
            "source_table": self.source_table,
            "source_column": self.source_column,
            "target_table": self.target_table,
            "target_column": self.target_column,
        }


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table that a workflow reads, by its full name."""

    table: str
    steps: tuple[str, ...]
    how: frozenset[How]

    @property
    def is_captured_only(self) -> bool:
        """Whether the workflow sees of the table what a capture gives it, and nothing else."""
        return self.how == {How.CAPTURE}

    def to_json(self) -> dict[str, Any]:
        """The read for programs."""
        return {"table": self.table, "steps": list(self.steps), "how": sorted(self.how)}


@dataclass(frozen=True, slots=True)
class TableWrite:
    """A table that a workflow writes, by its full name."""

    table: str
    steps: tuple[str, ...]
    #: What its statements do; empty where the write is only declared.
    kinds: frozenset[WriteKind]
    how: frozenset[How]
    #: Whether Spark steps alone write it, so that all its writes can be put on a branch.
    by_spark: bool
    #: Branches that are named in the text: `t.branch_audit`. Empty: main.
    branches: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """The write for programs."""
        return {
            "table": self.table,
            "steps": list(self.steps),
            "kinds": sorted(self.kinds),
            "how": sorted(self.how),
            "by_spark": self.by_spark,
        } | ({"branches": sorted(self.branches)} if self.branches else {})


@dataclass(frozen=True, slots=True)
class CapturedSource:
    """A source of a capture step. `table` is the full name, `alias` what the workflow calls it."""

    table: str
    alias: str
    branch: str | None = None
    range_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaptureUse:
    """A capture step. `consumer` is None where it is known only when the workflow runs."""

    step_id: str
    consumer: str | None
    sources: tuple[CapturedSource, ...]
    #: Which changes count: append, overwrite, delete.
    operations: tuple[str, ...] = ("append",)
    #: ICDC, RANGE or BOTH: what the steps after it are told of the change.
    mode: str = "ICDC"
    #: The loops that the step is in, outermost first.
    loops: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The capture for programs."""
        return {
            "step_id": self.step_id,
            "consumer": self.consumer,
            "operations": list(self.operations),
            "mode": self.mode,
            "tables": [source.table for source in self.sources],
        }


@dataclass(frozen=True, slots=True)
class Call:
    """A workflow that a step starts. Its tables are those of that workflow."""

    step_id: str
    workflow_id: str

    def to_json(self) -> dict[str, str]:
        """The call for programs."""
        return {"step_id": self.step_id, "workflow_id": self.workflow_id}


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that could not be told of a step, and why."""

    step_id: str
    directions: frozenset[Direction]
    cause: Cause
    why: str

    def to_json(self) -> dict[str, Any]:
        """The gap for programs."""
        return {
            "step_id": self.step_id,
            "directions": sorted(self.directions),
            "cause": self.cause.value,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class WorkflowTables:
    """The tables of one version of a workflow, each once, ordered by name."""

    workflow_id: str
    version: int
    reads: tuple[TableRead, ...] = ()
    writes: tuple[TableWrite, ...] = ()
    columns: tuple[ColumnEdge, ...] = ()
    captures: tuple[CaptureUse, ...] = ()
    calls: tuple[Call, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    @property
    def how(self) -> frozenset[How]:
        """From what all of it is known."""
        return frozenset[How]().union(*(x.how for x in self.reads), *(x.how for x in self.writes))

    @property
    def read_names(self) -> tuple[str, ...]:
        """The tables that are read, captured ones among them."""
        return tuple(found.table for found in self.reads)

    @property
    def written_names(self) -> tuple[str, ...]:
        """The tables that are written."""
        return tuple(found.table for found in self.writes)

    def read_of(self, table: str) -> TableRead | None:
        """How a table is read; None if it is not."""
        return next((found for found in self.reads if found.table == table), None)

    def write_of(self, table: str) -> TableWrite | None:
        """How a table is written; None if it is not."""
        return next((found for found in self.writes if found.table == table), None)

    def captures_of(self, table: str) -> tuple[CaptureUse, ...]:
        """The capture steps that take the changes of a table."""
        return tuple(x for x in self.captures if any(source.table == table for source in x.sources))

    def to_json(self) -> dict[str, Any]:
        """The tables for programs."""
        return {
            "workflow_id": self.workflow_id,
            "version": self.version,
            "reads": [found.to_json() for found in self.reads],
            "writes": [found.to_json() for found in self.writes],
            "captures": [found.to_json() for found in self.captures],
            "calls": [found.to_json() for found in self.calls],
            "columns": [found.to_json() for found in self.columns],
            "unknown": [found.to_json() for found in self.unknown],
        }
