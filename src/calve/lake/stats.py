"""What a change amounts to: files, rows, bytes, partitions and ranges, counted along the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calve.lake.column_ranges import RangeBuilder
from calve.lake.manifest import Entry
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import TableMetadata
from calve.lake.model import ColumnRange, RangeColumn
from calve.lake.pruning import PartitionPruner
from calve.lake.values import partition_json


@dataclass(slots=True)
class Totals:
    """The size of one ICDC table."""

    files: int = 0
    records: int = 0
    bytes: int = 0
    delete_files: int = 0
    position_deletes: int = 0
    equality_deletes: int = 0

    def add(self, entry: Entry) -> None:
        """Count a data file."""
        self.files += 1
        self.records += entry.record_count
        self.bytes += entry.file_size

    def add_delete(self, entry: Entry) -> None:
        """Count a delete file."""
        self.delete_files += 1
        if entry.content == 1:
            self.position_deletes += entry.record_count
        else:
            self.equality_deletes += entry.record_count


@dataclass(slots=True)
class ChangeStats:
    """Partitions and ranges over all the tables of one change."""

    metadata: TableMetadata
    pruner: PartitionPruner
    ranges: dict[str, RangeBuilder]
    partitions: set[tuple[int, tuple[Any, ...]]] = field(default_factory=set)

    @classmethod
    def start(cls, metadata: TableMetadata, columns: Sequence[RangeColumn]) -> ChangeStats:
        """Nothing counted yet."""
        builders = {column.name: RangeBuilder(column, metadata) for column in columns}
        return cls(metadata, PartitionPruner(metadata), builders)

    def add(self, entry: Entry) -> None:
        """Take a data file in."""
        self.partitions.add((entry.spec_id, entry.partition))
        for builder in self.ranges.values():
            builder.add(entry)

    def add_unopened(self, manifests: Sequence[ManifestFile], changed_partitions: str | None) -> bool:
        """Take the manifests of a snapshot in without opening them; False where entries must be seen.

        A manifest's bounds name the partitions that its files may be in. They are in all of these
        if there is one of them, or if the snapshot changed as many as there are in all.
        """
        possible = [self.pruner.possible_partitions(manifest) for manifest in manifests]
        if self.ranges or not all(possible):
            return False
        named = zip(manifests, possible, strict=True)
        found = {(manifest.spec_id, partition) for manifest, named_here in named for partition in named_here}
        if str(len(found)) != changed_partitions and any(len(named_here) > 1 for named_here in possible):
            return False
        self.partitions |= found
        return True

    def mark_inexact(self) -> None:
        """Say that the files hold rows besides those that changed."""
        for builder in self.ranges.values():
            builder.mark_inexact()

    def column_ranges(self) -> dict[str, ColumnRange]:
        """The ranges by column."""
        return {name: builder.build() for name, builder in self.ranges.items()}

    def warnings(self) -> tuple[str, ...]:
        """Why ranges cannot be known, one for each that cannot."""
        return tuple(x.unknown for x in self.ranges.values() if x.unknown is not None)

    def partition_values(self) -> tuple[Mapping[str, Any], ...]:
        """The partitions of the change, as names and readable values; none for unpartitioned specs."""
        shown = {}
        for spec_id, partition in self.partitions:
            values = describe_partition(self.metadata, spec_id, partition)
            if values:
                shown[str(values)] = values
        return tuple(shown[key] for key in sorted(shown))


def describe_partition(metadata: TableMetadata, spec_id: int, partition: Sequence[Any]) -> dict[str, Any]:
    """A partition as names and readable values; empty for an unpartitioned spec."""
    return {
        field["name"]: partition_json(field["transform"], metadata.field_type(field["source-id"]), value)
        for field, value in zip(metadata.specs[spec_id], partition, strict=False)
        if field["transform"] != "void"
    }
