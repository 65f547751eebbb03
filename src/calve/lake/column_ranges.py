"""Where the values of a column lie over the files of a change, from statistics alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calve.errors import NotFoundError, UsageError
from calve.lake.manifest import NAN_COUNTS, NULL_COUNTS, VALUE_COUNTS, Entry
from calve.lake.metadata import TableMetadata, find_nested, has_field
from calve.lake.model import ColumnRange, Exactness
from calve.lake.values import decode_bound, from_avro, is_ordered, is_truncated, to_json, transform_interval

_FLOATS = ("float", "double")
#: Types whose values in the metadata's JSON are already comparable.
_PLAIN_JSON = {"boolean", "int", "long", "float", "double", "string"}


@dataclass(frozen=True, slots=True)
class RangeColumn:
    """A column whose range is wanted."""

    name: str
    id: int
    type: str
    initial_default: Any


def range_column(schema: Mapping[str, Any], name: str) -> RangeColumn:
    """A column by its name, or a field inside structs by its dotted path.

    Raises RANGE_COLUMN_NOT_FOUND, _NESTED or _UNORDERED.
    """
    column = find_nested(schema, name)
    if column is None:
        raise _missing_column(schema, name)
    if not is_ordered(column["type"]):
        kind = column["type"] if isinstance(column["type"], str) else column["type"]["type"]
        raise UsageError(
            "RANGE_COLUMN_UNORDERED",
            f"column {name!r} is of type {kind}, which has no order",
            "give a column of a number, text, date or time type",
        )
    return RangeColumn(name, column["id"], column["type"], column.get("initial-default"))


def _missing_column(schema: Mapping[str, Any], name: str) -> UsageError:
    repeated = _repeated_part(schema, name)
    if repeated is not None:
        return UsageError(
            "RANGE_COLUMN_NESTED",
            f"{name!r} lies inside {repeated!r}, which is a list or a map: files have no bounds of it",
            "give a top-level column, or a field inside structs only",
        )
    known = ", ".join(column["name"] for column in schema["fields"])
    return NotFoundError(
        "RANGE_COLUMN_NOT_FOUND", f"there is no column {name!r}; there are {known}", "check the name"
    )


def _repeated_part(schema: Mapping[str, Any], name: str) -> str | None:
    """The leading part of a dotted path that is a list or a map, if there is one."""
    parts = name.split(".")
    for length in range(1, len(parts)):
        part = ".".join(parts[:length])
        found = find_nested(schema, part)
        if found is not None and isinstance(found["type"], dict) and found["type"]["type"] != "struct":
            return part
    return None


class RangeBuilder:
    """Widens one column's range file by file."""

    def __init__(self, column: RangeColumn, metadata: TableMetadata) -> None:
        self._column = column
        self._metadata = metadata
        self._lower: Any = None
        self._upper: Any = None
        self._exactness = Exactness.EXACT
        self._unknown: str | None = None
        self._has_null: bool | None = False
        self._has_nan: bool | None = False
        self._partition_source = {
            spec_id: [
                (at, field["transform"])
                for at, field in enumerate(fields)
                # A void field is null whatever the column holds.
                if field["source-id"] == column.id and field["transform"] != "void"
            ]
            for spec_id, fields in metadata.specs.items()
        }

    @property
    def unknown(self) -> str | None:
        """Why the range cannot be known, if it cannot."""
        return self._unknown

    @property
    def upper(self) -> Any:
        """The greatest value so far, in the form that bounds are compared in; None if there is none."""
        return self._upper

    def add(self, entry: Entry) -> None:
        """Take a data file into the range."""
        column = self._column
        nulls = entry.count_of(NULL_COUNTS, column.id)
        lower, upper = entry.lower(column.id), entry.upper(column.id)
        if lower is not None and upper is not None:
            self._widen(
                decode_bound(column.type, lower), decode_bound(column.type, upper), is_truncated(column.type)
            )
            self._note(nulls, entry)
        elif self._is_absent(entry):
            self._add_default(entry)
        elif self._holds_no_value(entry, nulls):
            self._note(nulls, entry)
        else:
            self._add_from_partition(entry, nulls)

    def _note(self, nulls: int | None, entry: Entry) -> None:
        self._has_null = _either(self._has_null, None if nulls is None else nulls > 0)
        if self._column.type in _FLOATS:
            nans = entry.count_of(NAN_COUNTS, self._column.id)
            self._has_nan = _either(self._has_nan, None if nans is None else nans > 0)

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

    def _add_default(self, entry: Entry) -> None:
        default = self._column.initial_default
        if default is None:
            self._has_null = True
        elif self._column.type in _PLAIN_JSON:
            self._widen(default, default, inexact=False)
        else:
            self._give_up(f"{entry.path} was written before the column, which has a default value")

    def _holds_no_value(self, entry: Entry, nulls: int | None) -> bool:
        if nulls is None:
            return False
        nans = entry.count_of(NAN_COUNTS, self._column.id) or 0
        return nulls + nans == (entry.count_of(VALUE_COUNTS, self._column.id) or entry.record_count)

    def _add_from_partition(self, entry: Entry, nulls: int | None) -> None:
        for at, transform in self._partition_source.get(entry.spec_id, ()):
            value = entry.partition[at]
            if value is None:
                self._has_null = True
                return
            interval = transform_interval(transform, self._column.type, from_avro(self._column.type, value))
            if interval is not None:
                # Every transform keeps nulls apart, so a file with a value here has none.
                self._widen(*interval, inexact=transform != "identity")
                return
        self._note(nulls, entry)
        self._give_up(f"{entry.path} has no statistics of it")

    def _widen(self, lower: Any, upper: Any, inexact: bool) -> None:
        if lower != lower or upper != upper:
            self._give_up("a file has NaN for a bound")
            return
        self._lower = lower if self._lower is None else min(self._lower, lower)
        self._upper = upper if self._upper is None else max(self._upper, upper)
        if inexact:
            self.mark_inexact()

    def _give_up(self, reason: str) -> None:
        self._exactness = Exactness.UNKNOWN
        self._unknown = self._unknown or f"the range of {self._column.name!r} is unknown: {reason}"

    def mark_inexact(self) -> None:
        """Say that the files hold rows that are not part of the change."""
        if self._exactness is Exactness.EXACT:
            self._exactness = Exactness.INEXACT

    def build(self) -> ColumnRange:
        """The range over all files so far."""
        unknown = self._exactness is Exactness.UNKNOWN
        kind = self._column.type
        return ColumnRange(
            None if unknown else to_json(kind, self._lower),
            None if unknown else to_json(kind, self._upper),
            self._exactness,
            self._has_null,
            self._has_nan,
        )


def _either(known: bool | None, more: bool | None) -> bool | None:
    """True if any file says so; unknown if any file does not tell."""
    if known is True or more is True:
        return True
    return None if known is None or more is None else False
