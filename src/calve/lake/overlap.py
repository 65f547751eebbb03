"""Which files, and which manifests, may hold rows of a range of a column. When in doubt they do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from calve.lake.file_ranges import FLOATS, FileRange
from calve.lake.manifest_list import FieldSummary, ManifestFile
from calve.lake.metadata import TableMetadata
from calve.lake.model import RangeColumn
from calve.lake.pruning import result_type
from calve.lake.values import decode_bound, transform_interval


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The values from `lower` to before `upper`, in the form that bounds are compared in; None is unbounded.

    Nulls are in no range. NaN is greater than all other values, as SQL has it.
    """

    lower: Any = None
    upper: Any = None

    def may_meet(self, found: FileRange) -> bool:
        """False only where no row of a file is in the range."""
        if found.unknown is not None or (self.upper is None and found.has_nan is not False):
            return True
        if found.lower is None:
            return False
        return (self.upper is None or found.lower < self.upper) and (
            self.lower is None or found.upper >= self.lower
        )

    def holds_all(self, found: FileRange) -> bool:
        """True only where every row of a file is in the range."""
        if found.unknown is not None or found.has_null is not False:
            return False
        if found.has_nan is not False and self.upper is not None:
            return False
        if found.lower is None:
            return found.has_nan is True
        return (self.lower is None or found.lower >= self.lower) and (
            self.upper is None or found.upper < self.upper
        )


def manifest_range(metadata: TableMetadata, manifest: ManifestFile, column: RangeColumn) -> FileRange:
    """Where the column's values lie in all files of a manifest, by what the list says of its partitions."""
    fields = metadata.specs.get(manifest.spec_id, ())
    lower = upper = None
    has_null: bool | None = None
    for field, summary in zip(fields, manifest.partitions or (), strict=False):
        if field["source-id"] != column.id:
            continue
        interval = _field_interval(metadata, field, summary, column)
        if interval is None:
            continue
        # Each field alone is right, so both together are.
        lower = interval[0] if lower is None else max(lower, interval[0])
        upper = interval[1] if upper is None else min(upper, interval[1])
        has_null = summary.contains_null
    has_nan = None if column.type in FLOATS else False
    if lower is None:
        return FileRange(None, None, True, None, has_nan, "the manifest list tells nothing of it")
    return FileRange(lower, upper, True, has_null, has_nan)


def _field_interval(
    metadata: TableMetadata, field: Any, summary: FieldSummary, column: RangeColumn
) -> tuple[Any, Any] | None:
    kind = result_type(metadata, field)
    if kind is None or summary.lower is None or summary.upper is None:
        return None
    first, last = (
        transform_interval(field["transform"], column.type, decode_bound(kind, bound))
        for bound in (summary.lower, summary.upper)
    )
    return None if first is None or last is None else (first[0], last[1])


class RangeIndex:
    """Finds, among many ranges, those that a file may have rows of."""

    def __init__(self, ranges: Sequence[ValueRange]) -> None:
        self._ranges = ranges
        self._order = sorted(
            range(len(ranges)), key=lambda at: (ranges[at].lower is not None, ranges[at].lower)
        )
        lowers = [ranges[at].lower for at in self._order]
        uppers = [ranges[at].upper for at in self._order]
        self._unbounded = sum(lower is None for lower in lowers)
        self._lowers = lowers[self._unbounded :]
        self._bounded = next((n for n, upper in enumerate(uppers) if upper is None), len(uppers))
        self._uppers = uppers[: self._bounded]
        ends_are_ordered = all(a <= b for a, b in zip(self._uppers, self._uppers[1:], strict=False))
        self._sorted = ends_are_ordered and all(upper is None for upper in uppers[self._bounded :])

    def meeting(self, found: FileRange) -> Iterable[int]:
        """The places, in what was given, of the ranges that a file may have rows of."""
        if not self._sorted or found.unknown is not None or found.lower is None or found.has_nan is not False:
            return (at for at, wanted in enumerate(self._ranges) if wanted.may_meet(found))
        first = bisect_right(self._uppers, found.lower)
        last = self._unbounded + bisect_right(self._lowers, found.upper)
        return self._order[first:last]

    def meets(self, found: FileRange) -> bool:
        """Whether a file may have rows of any of the ranges."""
        return any(True for _ in self.meeting(found))

    def cuts_nothing(self, found: FileRange) -> bool:
        """Whether all rows of a file are in every range that it may have rows of."""
        return all(self._ranges[at].holds_all(found) for at in self.meeting(found))
