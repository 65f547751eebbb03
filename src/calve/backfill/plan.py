"""The plan of a backfill, as data: what is explained is what is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

#: JSON-ready values, as ranges of captures show them.
Bound = Any


class Order(StrEnum):
    """In which order chunks begin."""

    NEWEST_FIRST = "newest"
    OLDEST_FIRST = "oldest"


class Feeding(StrEnum):
    """How a stage's workflow gets what it has to process."""

    #: Its capture steps see all live rows of a range.
    RANGE = "range"
    #: Its capture steps see exactly what changed, rows that went included.
    NET = "net"
    #: It has no capture step: params tell it the range.
    PARAMS = "params"


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """A range of the column, `lower` inclusive and `upper` exclusive, and what it reads."""

    lower: Bound
    upper: Bound
    files: int | None = None
    records: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """A table that a stage reads through a capture; `column` None: nothing of it belongs to the range."""

    table: str
    uuid: str
    column: str | None
    #: Who captures it in regular runs; mostly one.
    consumers: tuple[str, ...]

    @property
    def consumer(self) -> str:
        """The one whose position counts."""
        return self.consumers[0]


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """A table that a stage changes. `clear_column`: rows of the range are removed before chunks write."""

    table: str
    uuid: str
    schema_id: int
    clear_column: str | None
    why_not_cleared: str | None = None


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One workflow of a backfill. `after` are the stages whose tables it reads."""

    workflow_id: str
    version: int
    feeding: Feeding
    after: tuple[int, ...]
    sources: tuple[SourcePlan, ...]
    targets: tuple[TargetPlan, ...]
    chunks: tuple[ChunkPlan, ...]
    #: Consumers of the targets that later stages serve: (consumer, table).
    served: tuple[tuple[str, str], ...] = ()
    rows_per_second: float | None = None

    @property
    def records(self) -> int | None:
        """The rows that its chunks read, if that is known of all of them."""
        return _sum(chunk.records for chunk in self.chunks)

    @property
    def files(self) -> int | None:
        """The files that its chunks read; one that lies in two chunks counts twice."""
        return _sum(chunk.files for chunk in self.chunks)

    @property
    def bytes(self) -> int | None:
        """The bytes that its chunks read."""
        return _sum(chunk.bytes for chunk in self.chunks)

    @property
    def seconds(self) -> float | None:
        """How long its chunks take one after the other, by the speed of earlier runs."""
        if self.records is None or not self.rows_per_second:
            return None
        return self.records / self.rows_per_second


@dataclass(frozen=True, slots=True)
class Validation:
    """What is looked at before a branch is published. `keys` by target; fractions are of main's rows."""

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    audits: Mapping[str, str] = field(default_factory=dict)
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    samples: int = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """A backfill: where it begins, the range, and the stages in an order that respects `after`."""

    workflow_id: str
    column: str | None
    #: The type of the column, `day_number` for days written as numbers; what the calendar goes by.
    kind: str
    chunk: str
    lower: Bound
    upper: Bound
    order: Order
    on_branch: bool
    params: Mapping[str, str]
    stages: tuple[StagePlan, ...]
    validation: Validation = field(default_factory=Validation)
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The plan as it is kept and shown."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Plan:
        """The inverse of `to_json`."""
        checks = raw["validation"]
        return cls(
            **{
                **raw,
                "order": Order(raw["order"]),
                "stages": tuple(_stage(stage) for stage in raw["stages"]),
                "validation": Validation(
                    **{**checks, "keys": {name: tuple(keys) for name, keys in checks["keys"].items()}}
                ),
                "warnings": tuple(raw["warnings"]),
            }
        )


def _stage(raw: Mapping[str, Any]) -> StagePlan:
    return StagePlan(
        **{
            **raw,
            "feeding": Feeding(raw["feeding"]),
            "after": tuple(raw["after"]),
            "sources": tuple(
                SourcePlan(**{**source, "consumers": tuple(source["consumers"])}) for source in raw["sources"]
            ),
            "targets": tuple(TargetPlan(**target) for target in raw["targets"]),
            "chunks": tuple(ChunkPlan(**chunk) for chunk in raw["chunks"]),
            "served": tuple((consumer, table) for consumer, table in raw["served"]),
        }
    )


def _sum(values: Any) -> int | None:
    found = list(values)
    return None if any(value is None for value in found) else sum(found)
