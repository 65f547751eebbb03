"""What a pattern is asked to write: the change, the target, and what is known of both from metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calve.errors import UsageError
from calve.lake.model import Changes, Mode
from calve.steps.patterns.rendering.filters import (
    ColumnFilter,
    PartitionField,
    filter_of_partitions,
    filter_of_range,
)
from calve.steps.patterns.rendering.values import Value


@dataclass(frozen=True, slots=True)
class Source:
    """A captured source table: its change, its columns with their types, how it is partitioned."""

    changes: Changes
    alias: str
    columns: Mapping[str, str]
    #: Empty where some of its files are in no partition.
    partition_fields: Sequence[PartitionField] = ()
    required: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the user's query may call it by."""
        return self.changes.table, self.alias

    @property
    def change_table(self) -> str:
        """The table that shows the change, for SQL. Raises ICDC_NOT_REGISTERED."""
        return _registered(self.changes.icdc_table, self.changes)

    @property
    def removed_table(self) -> str | None:
        """The table that shows what went, for SQL; None if nothing went."""
        changes = self.changes
        if changes.mode is Mode.APPEND or changes.removed_metadata_location is None:
            return None
        return _registered(changes.removed_table, changes)

    @property
    def state(self) -> str:
        """The whole source as it was at the end of the capture, for SQL."""
        return f"{self.changes.table} VERSION AS OF {self.changes.to_snapshot_id}"

    def filters(self, name: str) -> list[ColumnFilter]:
        """What the capture says of a column: of the partitions first, then of the range."""
        found: list[ColumnFilter | None] = [
            filter_of_partitions(field, self.changes.partitions)
            for field in self.partition_fields
            if field.column == name
        ]
        if not any(found) and name in self.changes.ranges and name in self.columns:
            found.append(filter_of_range(name, self.columns[name], self.changes.ranges[name]))
        return [one for one in found if one is not None]


def _registered(table: str | None, changes: Changes) -> str:
    if table is None:
        raise UsageError(
            "ICDC_NOT_REGISTERED",
            f"the change of {changes.table} has no table in the catalog that SQL could read",
            "set register_tables = true under [icdc] in calve.toml",
        )
    return table


@dataclass(frozen=True, slots=True)
class Target:
    """The table that is written."""

    name: str
    #: What statements write: the table, or a branch of it.
    written: str
    columns: Mapping[str, str]
    required: frozenset[str] = frozenset()
    partition_fields: Sequence[PartitionField] = ()
    #: Of the values that the change has in a partition column, those that the target has no partition for.
    missing: Mapping[str, frozenset[Value]] = field(default_factory=dict)

    def column(self, name: str) -> str | None:
        """The target's own spelling of a column."""
        return next((own for own in self.columns if own.lower() == name.lower()), None)

    def is_partitioned_by(self, name: str, *transforms: str) -> bool:
        """Whether partitions are made from a column in one of these ways."""
        return any(x.column == name and x.transform in transforms for x in self.partition_fields)


@dataclass(frozen=True, slots=True)
class Request:
    """One source, one target."""

    source: Source
    target: Target

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to do."""
        return self.source.changes.has_changes
