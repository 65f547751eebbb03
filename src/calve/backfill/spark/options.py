"""What is compared, and what is too much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from calve.errors import UsageError


class Grouping(StrEnum):
    """What rows are counted by."""

    PARTITION = "partition"
    #: By day of a column.
    DAY = "day"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """A query on both sides that gives one value: true or 0 if all is well."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a branch may at most differ by; None: by as much as it does.

    Shares are of main's rows in the groups that were compared.
    """

    max_added_rows: int | None = None
    max_removed_rows: int | None = None
    max_changed_rows: int | None = None
    #: Without a key a changed row is one that went: then these count.
    max_changed_share: float | None = None
    #: Of the number of rows, up or down.
    max_row_count_change: float | None = None
    require_no_schema_change: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How to compare. `keys` None: the table's identifier fields, if it has some."""

    group_by: Grouping = Grouping.PARTITION
    #: The column whose days are the groups.
    column: str | None = None
    keys: tuple[str, ...] | None = None
    #: How many rows of each kind of difference are shown.
    samples: int = 10
    #: How many groups are shown.
    max_groups: int = 1000
    audits: tuple[AuditQuery, ...] = ()
    thresholds: Thresholds = field(default_factory=Thresholds)

    def __post_init__(self) -> None:
        if self.group_by is Grouping.DAY and self.column is None:
            raise UsageError(
                "COMPARE_INVALID", "rows are to be grouped by day, and no column is given", "give 'column'"
            )

    def to_json(self) -> dict[str, Any]:
        """The options as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; what is left out is as by default. Raises COMPARE_INVALID."""
        try:
            found = dict(raw)
            if "group_by" in found:
                found["group_by"] = Grouping(found["group_by"])
            if found.get("keys") is not None:
                found["keys"] = tuple(found["keys"])
            found["audits"] = tuple(AuditQuery(**audit) for audit in found.get("audits") or ())
            found["thresholds"] = Thresholds(**(found.get("thresholds") or {}))
            return cls(**found)
        except (TypeError, ValueError) as error:
            raise UsageError(
                "COMPARE_INVALID", str(error), "correct the options of the validation"
            ) from error
