"""The words of change capture, as frozen values: what is asked for, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Mode(StrEnum):
    """What an ICDC table shows of a range of snapshots."""

    APPEND = "append"  # the rows of the snapshots that only added rows
    NET = "net"  # the difference of two states: rows that came, rows that went
    LOG = "log"  # the difference at each snapshot in between, in order


class Operation(StrEnum):
    """What a snapshot did, judged by its entries rather than by the name it was given."""

    APPEND = "append"  # added data files, nothing else
    OVERWRITE = "overwrite"  # added and removed rows
    DELETE = "delete"  # only removed rows
    REPLACE = "replace"  # the same rows in other files


class OnOther(StrEnum):
    """What append mode does about snapshots that removed rows."""

    SKIP = "skip"  # leave them out, and count them in `skipped_operations`
    FAIL = "fail"  # refuse the capture


class Exactness(StrEnum):
    """How far the bounds of a range can be trusted."""

    EXACT = "exact"  # both bounds are values of the change
    INEXACT = "inexact"  # all values of the change lie within, the bounds may be wider
    UNKNOWN = "unknown"  # nothing is known: there are no bounds


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a table's history. `from_snapshot_exclusive` None is the empty table."""

    from_snapshot_exclusive: int | None
    to_snapshot_inclusive: int | None


@dataclass(frozen=True, slots=True)
class RangeColumn:
    """A column whose range is wanted."""

    name: str
    id: int
    type: str
    initial_default: Any


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """Where the values of one column lie over a change. Bounds are JSON-ready values."""

    lower: Any
    upper: Any
    exactness: Exactness
    has_null: bool | None
    has_nan: bool | None

    def to_json(self) -> dict[str, Any]:
        """The range as the CLI and the API show it."""
        return {
            "lower": self.lower,
            "upper": self.upper,
            "exactness": self.exactness.value,
            "has_null": self.has_null,
            "has_nan": self.has_nan,
        }


@dataclass(frozen=True, slots=True)
class LogStep:
    """One snapshot of a log capture: read it with `VERSION AS OF snapshot_id`."""

    ordinal: int
    snapshot_id: int
    operation: Operation
    files: int
    records: int
    removed_files: int
    removed_records: int

    def to_json(self) -> dict[str, Any]:
        """The step as the CLI and the API show it."""
        return {
            "ordinal": self.ordinal,
            "snapshot_id": self.snapshot_id,
            "operation": self.operation.value,
            "files": self.files,
            "records": self.records,
            "removed_files": self.removed_files,
            "removed_records": self.removed_records,
        }


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed in one table over a stretch of its history, and where to read it.

    `icdc_table` and `removed_table` are names to use in SQL, or None where the tables were
    not registered; the metadata locations can always be read without a catalog.
    """

    table: str
    table_uuid: str
    branch: str
    mode: Mode
    segments: tuple[Segment, ...]
    has_changes: bool
    icdc_table: str | None
    icdc_metadata_location: str | None
    removed_table: str | None
    removed_metadata_location: str | None
    row_filter: str | None
    files: int
    records: int
    bytes: int
    removed_files: int
    removed_records: int
    removed_bytes: int
    operations: Mapping[str, int]
    skipped_operations: Mapping[str, int]
    ranges: Mapping[str, ColumnRange]
    partitions: tuple[Mapping[str, Any], ...]
    steps: tuple[LogStep, ...] = ()
    warnings: tuple[str, ...] = ()
    lineage: Mapping[str, int] | None = None
    identifier_columns: tuple[str, ...] = field(default=())

    @property
    def from_snapshot_id(self) -> int | None:
        """The snapshot the change starts after; None is the beginning of the table."""
        return self.segments[0].from_snapshot_exclusive

    @property
    def to_snapshot_id(self) -> int | None:
        """The last snapshot of the change; None for a table without snapshots."""
        return self.segments[-1].to_snapshot_inclusive

    def to_json(self) -> dict[str, Any]:
        """The change as the CLI and the API show it: a contract, keys are only ever added."""
        return {
            "table": self.table,
            "table_uuid": self.table_uuid,
            "branch": self.branch,
            "mode": self.mode.value,
            "from_snapshot_id": self.from_snapshot_id,
            "to_snapshot_id": self.to_snapshot_id,
            "segments": [[s.from_snapshot_exclusive, s.to_snapshot_inclusive] for s in self.segments],
            "has_changes": self.has_changes,
            "icdc_table": self.icdc_table,
            "icdc_metadata_location": self.icdc_metadata_location,
            "removed_table": self.removed_table,
            "removed_metadata_location": self.removed_metadata_location,
            "row_filter": self.row_filter,
            "files": self.files,
            "records": self.records,
            "bytes": self.bytes,
            "removed_files": self.removed_files,
            "removed_records": self.removed_records,
            "removed_bytes": self.removed_bytes,
            "operations": dict(self.operations),
            "skipped_operations": dict(self.skipped_operations),
            "ranges": {name: bounds.to_json() for name, bounds in self.ranges.items()},
            "partitions": [dict(p) for p in self.partitions],
            "steps": [step.to_json() for step in self.steps],
            "lineage": None if self.lineage is None else dict(self.lineage),
            "identifier_columns": list(self.identifier_columns),
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Changes:
        """The inverse of `to_json`."""
        return cls(
            table=raw["table"],
            table_uuid=raw["table_uuid"],
            branch=raw["branch"],
            mode=Mode(raw["mode"]),
            segments=tuple(Segment(start, end) for start, end in raw["segments"]),
            has_changes=raw["has_changes"],
            icdc_table=raw["icdc_table"],
            icdc_metadata_location=raw["icdc_metadata_location"],
            removed_table=raw["removed_table"],
            removed_metadata_location=raw["removed_metadata_location"],
            row_filter=raw["row_filter"],
            files=raw["files"],
            records=raw["records"],
            bytes=raw["bytes"],
            removed_files=raw["removed_files"],
            removed_records=raw["removed_records"],
            removed_bytes=raw["removed_bytes"],
            operations=raw["operations"],
            skipped_operations=raw["skipped_operations"],
            ranges={
                name: ColumnRange(**{**bounds, "exactness": Exactness(bounds["exactness"])})
                for name, bounds in raw["ranges"].items()
            },
            partitions=tuple(raw["partitions"]),
            steps=tuple(
                LogStep(**{**step, "operation": Operation(step["operation"])}) for step in raw["steps"]
            ),
            warnings=tuple(raw["warnings"]),
            lineage=raw["lineage"],
            identifier_columns=tuple(raw["identifier_columns"]),
        )
