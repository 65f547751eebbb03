"""Where the values of a column lie in one data file, from the file's entry alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from calve.lake.manifest import NAN_COUNTS, NULL_COUNTS, VALUE_COUNTS, Entry
from calve.lake.metadata import TableMetadata, has_field
from calve.lake.model import RangeColumn
from calve.lake.values import decode_bound, from_avro, is_truncated, transform_interval

FLOATS = ("float", "double")
#: Types whose values in the metadata's JSON are already comparable.
_PLAIN_JSON = {"boolean", "int", "long", "float", "double", "string"}


class FileRange(NamedTuple):
    """The closed interval that holds all values of a file; no bounds where it has no value.

    `unknown` says why nothing is known of the values, if so. `has_null` and `has_nan` are None
    where the file does not tell.
    """

    lower: Any = None
    upper: Any = None
    inexact: bool = False
    has_null: bool | None = False
    has_nan: bool | None = False
    unknown: str | None = None


class FileRanges:
    """Answers where a column's values lie in the files of one table."""

    def __init__(self, column: RangeColumn, metadata: TableMetadata) -> None:
        self._column = column
        self._metadata = metadata
        self._truncated = is_truncated(column.type)
        self._is_float = column.type in FLOATS
        self._partition_source = {
            spec_id: [
                (at, field["transform"])
                for at, field in enumerate(fields)
                # A void field is null whatever the column holds.
                if field["source-id"] == column.id and field["transform"] != "void"
            ]
            for spec_id, fields in metadata.specs.items()
        }

    def of(self, entry: Entry) -> FileRange:
        """The range of a data file."""
        column = self._column
        lower, upper = entry.lower(column.id), entry.upper(column.id)
        if lower is not None and upper is not None:
            return self._between(
                entry, decode_bound(column.type, lower), decode_bound(column.type, upper), self._truncated
            )
        if self._is_absent(entry):
            return self._default(entry)
        if self._holds_no_value(entry):
            return self._between(entry, None, None, inexact=False)
        return self.of_partition(entry)

    def _between(self, entry: Entry, lower: Any, upper: Any, inexact: bool) -> FileRange:
        has_null, has_nan = self._has_null(entry), self._has_nan(entry)
        if lower != lower or upper != upper:
            return FileRange(None, None, False, has_null, has_nan, "a file has NaN for a bound")
        return FileRange(lower, upper, inexact, has_null, has_nan)

    def _has_null(self, entry: Entry) -> bool | None:
        nulls = entry.count_of(NULL_COUNTS, self._column.id)
        return None if nulls is None else nulls > 0

    def _has_nan(self, entry: Entry) -> bool | None:
        if not self._is_float:
            return False
        nans = entry.count_of(NAN_COUNTS, self._column.id)
        return None if nans is None else nans > 0

    def _is_absent(self, entry: Entry) -> bool:
        """Whether the file was written before the column came to the table."""
        if entry.count_of(VALUE_COUNTS, self._column.id) is not None:
            return False
        if not self._metadata.has_snapshot(entry.snapshot_id):
            return False
        written_by = self._metadata.snapshot(entry.snapshot_id)
        if written_by.schema_id is None:
            return False
        return not has_field(self._metadata.schema_of(written_by), self._column.id)

    def _default(self, entry: Entry) -> FileRange:
        default = self._column.initial_default
        if default is None:
            return FileRange(has_null=True)
        if self._column.type in _PLAIN_JSON:
            return FileRange(default, default)
        return FileRange(unknown=f"{entry.path} was written before the column, which has a default value")

    def _holds_no_value(self, entry: Entry) -> bool:
        nulls = entry.count_of(NULL_COUNTS, self._column.id)
        if nulls is None:
            return False
        nans = entry.count_of(NAN_COUNTS, self._column.id) or 0
        return nulls + nans == (entry.count_of(VALUE_COUNTS, self._column.id) or entry.record_count)

    def of_partition(self, entry: Entry) -> FileRange:
        """The range that all files of a data file's partition lie in."""
        for at, transform in self._partition_source.get(entry.spec_id, ()):
            value = entry.partition[at]
            if value is None:
                return FileRange(has_null=True)
            interval = transform_interval(transform, self._column.type, from_avro(self._column.type, value))
            if interval is not None:
                # Every transform keeps nulls apart, so a file with a value here has none.
                return self._in_partition(*interval, inexact=transform != "identity")
        unknown = f"{entry.path} has no statistics of it"
        return FileRange(None, None, False, self._has_null(entry), self._has_nan(entry), unknown)

    def _in_partition(self, lower: Any, upper: Any, inexact: bool) -> FileRange:
        if lower != lower:
            return FileRange(has_nan=True)
        return FileRange(lower, upper, inexact)
