"""Which delete files apply to which data files, by the rules of the specification.

A deletion vector, or a position delete file that names one data file, applies to that file. Any
other position delete file applies to files of its own spec and partition that are not younger;
an equality delete file to older ones there or, if its spec is unpartitioned, everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calve.lake.manifest import (
    DELETE_FILE_PATH_COLUMN,
    EQUALITY_DELETES,
    EQUALITY_IDS,
    NULL_COUNTS,
    REFERENCED_DATA_FILE,
    Entry,
)
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import TableMetadata
from calve.lake.pruning import PartitionPruner
from calve.lake.values import decode_bound, is_ordered

PartitionKey = tuple[int, tuple[Any, ...]]


def partition_key(entry: Entry) -> PartitionKey:
    """The spec and the partition that a file belongs to; NaN is one value here, equal to itself."""
    partition = entry.partition
    if any(value != value for value in partition):
        partition = tuple("NaN" if value != value else value for value in partition)
    return entry.spec_id, partition


def referenced_path(delete: Entry) -> str | None:
    """The one data file that a position delete file is about, if it says so."""
    if delete.content == EQUALITY_DELETES:
        return None
    named: str | None = delete.value(REFERENCED_DATA_FILE)
    if named is not None:
        return named
    lower, upper = delete.lower(DELETE_FILE_PATH_COLUMN), delete.upper(DELETE_FILE_PATH_COLUMN)
    return lower.decode() if lower is not None and lower == upper else None


class DeleteMatcher:
    """Answers for a data file whether any of a set of delete files applies to it."""

    def __init__(self, deletes: Iterable[Entry], metadata: TableMetadata) -> None:
        self._metadata = metadata
        self._by_path: dict[str, list[Entry]] = {}
        self._by_partition: dict[PartitionKey, list[Entry]] = {}
        self._everywhere: list[Entry] = []
        self._keys: set[PartitionKey] = set()
        self._newest = -1
        for delete in deletes:
            self._place(delete)

    def _place(self, delete: Entry) -> None:
        self._newest = max(self._newest, delete.sequence_number)
        path = referenced_path(delete)
        if path is not None:
            self._by_path.setdefault(path, []).append(delete)
        elif delete.content == EQUALITY_DELETES and delete.spec_id in self._metadata.unpartitioned_specs:
            self._everywhere.append(delete)
            return
        else:
            self._by_partition.setdefault(partition_key(delete), []).append(delete)
        self._keys.add(partition_key(delete))

    def __bool__(self) -> bool:
        return self._newest >= 0

    @property
    def paths(self) -> set[str]:
        """The data files that deletes name."""
        return set(self._by_path)

    def hits(self, data: Entry) -> bool:
        """Whether any of the deletes applies to the data file."""
        if any(d.sequence_number >= data.sequence_number for d in self._by_path.get(data.path, ())):
            return True
        candidates = self._by_partition.get(partition_key(data), ()) if self._by_partition else ()
        return any(self._applies(d, data) for d in candidates) or any(
            self._applies(d, data) for d in self._everywhere
        )

    def _applies(self, delete: Entry, data: Entry) -> bool:
        if delete.content == EQUALITY_DELETES:
            return delete.sequence_number > data.sequence_number and self._keys_may_meet(delete, data)
        return delete.sequence_number >= data.sequence_number and _path_within(delete, data.path)

    def _keys_may_meet(self, delete: Entry, data: Entry) -> bool:
        """False only where bounds show that no row of the data file has a deleted key."""
        return all(self._column_may_meet(column, delete, data) for column in delete.value(EQUALITY_IDS) or ())

    def _column_may_meet(self, column: int, delete: Entry, data: Entry) -> bool:
        if delete.count_of(NULL_COUNTS, column) != 0 and data.count_of(NULL_COUNTS, column) != 0:
            return True
        kind = self._metadata.field_type(column)
        bounds = [delete.lower(column), delete.upper(column), data.lower(column), data.upper(column)]
        # NaN lies outside of any bounds, and equals itself as a key.
        if not is_ordered(kind) or kind in ("float", "double") or None in bounds:
            return True
        low, high, data_low, data_high = (decode_bound(kind, bound) for bound in bounds if bound is not None)
        return bool(low <= data_high and data_low <= high)

    def may_hit(self, manifest: ManifestFile, pruner: PartitionPruner) -> bool:
        """Whether a manifest of data files may hold one that a delete applies to."""
        if not self or manifest.min_sequence_number > self._newest:
            return False
        return bool(self._everywhere) or any(pruner.may_hold(manifest, *key) for key in self._keys)

    def may_name(self, manifest: ManifestFile) -> bool:
        """Whether a manifest may hold a data file that a delete names, in whatever partition."""
        return bool(self._by_path) and manifest.min_sequence_number <= self._newest


def _path_within(delete: Entry, path: str) -> bool:
    lower, upper = delete.lower(DELETE_FILE_PATH_COLUMN), delete.upper(DELETE_FILE_PATH_COLUMN)
    encoded = path.encode()
    return (lower is None or lower <= encoded) and (upper is None or encoded <= upper)


class DataFileIndex:
    """The data files of a table in the making, as far as its delete files need to know them."""

    def __init__(self) -> None:
        self._paths: dict[str, int] = {}
        self._oldest_in: dict[PartitionKey, int] = {}
        self.oldest: int | None = None

    def add(self, data: Entry) -> bool:
        """Note a data file; False if it was there already."""
        number, path = data.sequence_number, data.path
        if path in self._paths:
            return False
        self._paths[path] = number
        key = partition_key(data)
        self._oldest_in[key] = min(number, self._oldest_in.get(key, number))
        self.oldest = number if self.oldest is None else min(number, self.oldest)
        return True

    def __contains__(self, path: str) -> bool:
        return path in self._paths

    def may_need(self, manifest: ManifestFile) -> bool:
        """Whether a manifest of delete files may hold one that applies here."""
        return self.oldest is not None and manifest.sequence_number >= self.oldest

    def needs(self, delete: Entry, unpartitioned_specs: frozenset[int]) -> bool:
        """Whether a delete file applies to at least one of the data files."""
        path = referenced_path(delete)
        if path is not None:
            return self._paths.get(path, delete.sequence_number + 1) <= delete.sequence_number
        if delete.content == EQUALITY_DELETES:
            everywhere = delete.spec_id in unpartitioned_specs
            oldest = self.oldest if everywhere else self._oldest_in.get(partition_key(delete))
            return oldest is not None and oldest < delete.sequence_number
        oldest = self._oldest_in.get(partition_key(delete))
        return oldest is not None and oldest <= delete.sequence_number
