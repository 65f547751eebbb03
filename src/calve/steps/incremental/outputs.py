"""What a capture tells the steps after it, as params."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calve.errors import UsageError
from calve.lake.model import Changes, ColumnRange, Exactness
from calve.steps.incremental.options import CaptureMode

NAMES = frozenset(
    {
        "capture_id",
        "has_changes",
        "icdc_table",
        "icdc_location",
        "removed_table",
        "row_filter",
        "range_lower",
        "range_upper",
        "range_exactness",
        "range_lowers",
        "range_uppers",
        "changed_partitions",
        "from_snapshot_id",
        "to_snapshot_id",
        "change_files",
        "change_rows",
        "change_bytes",
        "skipped_operations",
        "lookback_files",
        "lookback_rows",
        "lookback_bytes",
    }
)
#: The snapshot before the first.
_BEGINNING = -1


@dataclass(frozen=True, slots=True)
class Source:
    """The change of one table, under the name that it has in the workflow."""

    alias: str
    changes: Changes


def describe(sources: Sequence[Source], mode: CaptureMode) -> dict[str, Any]:
    """The output params. With one source, plain values; with several, maps by alias.

    What is not known is left out, so that a step that needs it fails rather than gives wrong rows.
    """
    changes = [source.changes for source in sources]
    described: dict[str, Any] = {
        "has_changes": any(found.has_changes for found in changes),
        "from_snapshot_id": _each(
            sources, lambda x: _BEGINNING if x.from_snapshot_id is None else x.from_snapshot_id
        ),
        "to_snapshot_id": _each(
            sources, lambda x: _BEGINNING if x.to_snapshot_id is None else x.to_snapshot_id
        ),
        "changed_partitions": _partitions(sources),
        "change_files": sum(found.files + found.removed_files for found in changes),
        "change_rows": sum(found.records + found.removed_records for found in changes),
        "change_bytes": sum(found.bytes + found.removed_bytes for found in changes),
        "skipped_operations": _skipped(changes),
    }
    if mode is not CaptureMode.RANGE:
        described["icdc_table"] = _each(sources, lambda x: x.icdc_table or x.icdc_metadata_location)
        described["icdc_location"] = _each(sources, lambda x: x.icdc_metadata_location)
        described["removed_table"] = _each(sources, lambda x: x.removed_table or x.removed_metadata_location)
        described["row_filter"] = _each(sources, lambda x: x.row_filter or "TRUE")
    described |= _ranges(sources)
    return {name: value for name, value in described.items() if value is not None}


def _each(sources: Sequence[Source], field: Callable[[Changes], Any]) -> Any:
    if len(sources) == 1:
        return field(sources[0].changes)
    found = {source.alias: field(source.changes) for source in sources}
    return {alias: str(value) for alias, value in found.items() if value is not None}


def partition_path(partition: Mapping[str, Any]) -> str:
    """A partition as folders are named: `day=2024-01-01/region=eu`."""
    return "/".join(f"{name}={'null' if value is None else value}" for name, value in partition.items())


def _partitions(sources: Sequence[Source]) -> Any:
    found = {
        source.alias: [partition_path(partition) for partition in source.changes.partitions]
        for source in sources
    }
    if len(sources) == 1:
        return found[sources[0].alias]
    return {alias: ",".join(paths) for alias, paths in found.items()}


def _skipped(changes: Iterable[Changes]) -> dict[str, str]:
    total: dict[str, int] = {}
    for found in changes:
        for operation, count in found.skipped_operations.items():
            total[operation] = total.get(operation, 0) + count
    return {operation: str(count) for operation, count in sorted(total.items())}


def _ranges(sources: Sequence[Source]) -> dict[str, Any]:
    columns = list(dict.fromkeys(name for source in sources for name in source.changes.ranges))
    if not columns:
        return {}
    # With one column a table, they are taken to be the same thing under several names.
    is_one = all(len(source.changes.ranges) <= 1 for source in sources)
    unions = {name: unite(_known(sources, columns if is_one else [name])) for name in columns}
    described: dict[str, Any] = {
        "range_exactness": _worst(found.exactness for found in unions.values()).value,
        "range_lowers": _bounds(sources, lambda x: x.lower),
        "range_uppers": _bounds(sources, lambda x: x.upper),
    }
    for name, bound in (("range_lower", "lower"), ("range_upper", "upper")):
        known = {column: getattr(union, bound) for column, union in unions.items()}
        described[name] = known[columns[0]] if is_one else _texts(known)
    return described


def _known(sources: Sequence[Source], columns: Sequence[str]) -> list[ColumnRange]:
    """The ranges of these columns in the tables that changed."""
    changed = [source.changes for source in sources if source.changes.has_changes]
    return [found.ranges[name] for found in changed for name in columns if name in found.ranges]


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}


def unite(ranges: Sequence[ColumnRange]) -> ColumnRange:
    """The range over all of several changes; unknown as soon as one of them is."""
    if not ranges or any(found.exactness is Exactness.UNKNOWN for found in ranges):
        return ColumnRange(None, None, Exactness.UNKNOWN, None, None)
    bounded = [found for found in ranges if found.lower is not None]
    if len({isinstance(found.lower, str) for found in bounded}) > 1:
        raise UsageError(
            "RANGE_TYPES_DIFFER",
            f"a range column has values as {bounded[0].lower!r} in one table and others elsewhere",
            "name range_columns for each source, with columns of one type",
        )
    return ColumnRange(
        min((found.lower for found in bounded), default=None),
        max((found.upper for found in bounded), default=None),
        _worst(found.exactness for found in ranges),
        any(found.has_null for found in ranges),
        any(found.has_nan for found in ranges),
    )


def _worst(found: Iterable[Exactness]) -> Exactness:
    return max(found, key=list(Exactness).index)


def _bounds(sources: Sequence[Source], bound: Callable[[ColumnRange], Any]) -> dict[str, str]:
    return {
        f"{source.alias}.{column}": str(bound(found))
        for source in sources
        for column, found in source.changes.ranges.items()
        if bound(found) is not None
    }
