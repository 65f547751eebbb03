"""Changes and tables for tests of what patterns render, without a lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calve.lake.model import Changes, ColumnRange, Mode, Segment
from calve.steps.patterns.rendering.filters import PartitionField
from calve.steps.patterns.rendering.request import Request, Source, Target

COLUMNS = {"id": "long", "day": "date", "account": "string", "secs": "int", "at": "timestamptz"}
BY_DAY = (PartitionField("day", "day", "date", "identity"),)


def changes(
    *,
    table: str = "lake.db.events",
    partitions: Sequence[Mapping[str, Any]] = (),
    ranges: Mapping[str, ColumnRange] | None = None,
    removed: bool = False,
    row_filter: str | None = None,
    **options: Any,
) -> Changes:
    """A change of 10 rows; with `removed` rows went as well."""
    return Changes(
        table=table,
        table_uuid="u",
        branch="main",
        mode=Mode.NET if removed else Mode.APPEND,
        segments=(Segment(1, 2),),
        has_changes=options.get("has_changes", True),
        icdc_table=options.get("icdc_table", "lake.icdc.change"),
        icdc_metadata_location="file:/change",
        removed_table="lake.icdc.removed" if removed else None,
        removed_metadata_location="file:/removed" if removed else None,
        row_filter=row_filter,
        files=1,
        records=10,
        bytes=100,
        removed_files=0,
        removed_records=0,
        removed_bytes=0,
        operations={},
        skipped_operations={},
        ranges=ranges or {},
        partitions=tuple(partitions),
    )


def request(
    found: Changes | None = None,
    *,
    columns: Mapping[str, str] = COLUMNS,
    source_columns: Mapping[str, str] = COLUMNS,
    source_fields: Sequence[PartitionField] = BY_DAY,
    target_fields: Sequence[PartitionField] = BY_DAY,
    **options: Any,
) -> Request:
    """A source and a target that have the same columns, unless told otherwise."""
    source = Source(found or changes(), "events", source_columns, source_fields)
    target = Target("lake.db.target", "lake.db.target", columns, partition_fields=target_fields, **options)
    return Request(source, target)
