"""Manifests that cannot hold a partition, told by the summaries in the manifest list."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from calve.lake.manifest_list import FieldSummary, ManifestFile
from calve.lake.metadata import TableMetadata
from calve.lake.values import decode_bound, from_avro, is_ordered

_NUMBERED = ("bucket", "year", "month", "hour")
_MOST_LISTED = 10_000


def result_type(metadata: TableMetadata, field: Any) -> Any:
    """The type of a partition field's values, or None where it is not a plain one."""
    transform = field["transform"]
    if transform == "day":
        return "date"
    if transform.startswith(_NUMBERED):
        return "int"
    source = metadata.field_type(field["source-id"])
    return source if is_ordered(source) else None


class PartitionPruner:
    """Compares partition values with the bounds of a manifest's partition fields."""

    def __init__(self, metadata: TableMetadata) -> None:
        self._types = {
            spec_id: [result_type(metadata, field) for field in fields]
            for spec_id, fields in metadata.specs.items()
        }
        self._verdicts: dict[tuple[str, int, tuple[Any, ...]], bool] = {}

    def may_hold(self, manifest: ManifestFile, spec_id: int, partition: tuple[Any, ...]) -> bool:
        """False only where the manifest cannot hold a file of this partition."""
        if manifest.spec_id != spec_id:
            return False
        if manifest.partitions is None:
            return True
        key = (manifest.path, spec_id, partition)
        verdict = self._verdicts.get(key)
        if verdict is None:
            columns = zip(self._types[spec_id], manifest.partitions, partition, strict=False)
            verdict = self._verdicts[key] = all(
                _fits(kind, summary, value) for kind, summary, value in columns
            )
        return verdict

    def possible_partitions(self, manifest: ManifestFile) -> tuple[tuple[Any, ...], ...]:
        """The partitions that the manifest's files can be in; none where these cannot be listed."""
        kinds = self._types.get(manifest.spec_id)
        if kinds is None or manifest.partitions is None or len(kinds) != len(manifest.partitions):
            return ()
        values = [_possible(kind, summary) for kind, summary in zip(kinds, manifest.partitions, strict=True)]
        return tuple(product(*values)) if prod(map(len, values)) <= _MOST_LISTED else ()


def _possible(kind: Any, summary: FieldSummary) -> Sequence[Any]:
    nulls = (None,) if summary.contains_null else ()
    if summary.lower is None and summary.upper is None:
        return nulls if not summary.contains_nan else ()
    if kind is None or kind in ("float", "double") or summary.lower is None or summary.upper is None:
        return ()
    lower, upper = decode_bound(kind, summary.lower), decode_bound(kind, summary.upper)
    if lower == upper:
        return (lower, *nulls)
    if not isinstance(lower, int) or isinstance(lower, bool) or upper - lower >= _MOST_LISTED:
        return ()
    return (*range(lower, upper + 1), *nulls)


def _fits(kind: Any, summary: FieldSummary, value: Any) -> bool:
    if value is None:
        return summary.contains_null
    if kind is None or summary.lower is None or summary.upper is None or value != value:
        return True
    compared = from_avro(kind, value)
    try:
        return bool(decode_bound(kind, summary.lower) <= compared <= decode_bound(kind, summary.upper))
    except TypeError:
        # Values of a type that was promoted since; a wrong "may hold" only costs a read.
        return True
