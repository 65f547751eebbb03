"""What a comparison of a branch with main has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Side:
    """What one side has in a group: rows, sums of numeric columns, nulls of all columns."""

    rows: int = 0
    sums: Mapping[str, Any] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Moves:
    """Rows that came, went, and are there with other values. Without a key nothing counts as changed."""

    added: int = 0
    removed: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Both sides of a group of rows, which its values name."""

    values: Mapping[str, Any]
    main: Side
    branch: Side
    moves: Moves

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """The inverse of `asdict`."""
        return cls(raw["values"], Side(**raw["main"]), Side(**raw["branch"]), Moves(**raw["moves"]))


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that has other values on the branch: by column, the value of main and the one of the branch."""

    key: Mapping[str, Any]
    columns: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Samples:
    """Some of the rows that differ."""

    added: tuple[Mapping[str, Any], ...] = ()
    removed: tuple[Mapping[str, Any], ...] = ()
    changed: tuple[ChangedRow, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A column that the table has and the branch was not written with, or the other way round, or otherwise.

    A type is None where the column is not there.
    """

    column: str
    table_type: str | None
    branch_type: str | None


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit gave; `problem` is why it gave nothing that can be judged."""

    name: str
    passed: bool
    value: Any = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A branch against main. Groups in which both sides have the same files are equal, and not listed."""

    table: str
    branch: str
    main_snapshot_id: int | None
    branch_snapshot_id: int | None
    group_by: str
    keys: tuple[str, ...]
    #: All compared groups together.
    total: Group
    groups: tuple[Group, ...]
    groups_not_shown: int
    samples: Samples
    schema_changes: tuple[SchemaChange, ...]
    audits: tuple[AuditResult, ...]
    #: What is over a threshold, or wrong by an audit.
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Nothing speaks against publishing."""
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return {**asdict(self), "passed": self.passed}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        samples = raw["samples"]
        return cls(
            table=raw["table"],
            branch=raw["branch"],
            main_snapshot_id=raw["main_snapshot_id"],
            branch_snapshot_id=raw["branch_snapshot_id"],
            group_by=raw["group_by"],
            keys=tuple(raw["keys"]),
            total=Group.from_json(raw["total"]),
            groups=tuple(map(Group.from_json, raw["groups"])),
            groups_not_shown=raw["groups_not_shown"],
            samples=Samples(
                tuple(samples["added"]),
                tuple(samples["removed"]),
                tuple(_changed_row(row) for row in samples["changed"]),
            ),
            schema_changes=tuple(SchemaChange(**found) for found in raw["schema_changes"]),
            audits=tuple(AuditResult(**found) for found in raw["audits"]),
            failures=tuple(raw["failures"]),
        )

    def to_markdown(self) -> str:
        """The report for people."""
        from calve.backfill.spark.report_text import write_markdown

        return write_markdown(self)


def _changed_row(raw: Mapping[str, Any]) -> ChangedRow:
    return ChangedRow(raw["key"], {name: (pair[0], pair[1]) for name, pair in raw["columns"].items()})
