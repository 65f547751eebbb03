"""Where the values of a column lie over the files of a change, from statistics alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.errors import NotFoundError, UsageError
from calve.lake.file_ranges import FileRanges
from calve.lake.manifest import Entry
from calve.lake.metadata import TableMetadata, find_nested
from calve.lake.model import ColumnRange, Exactness, RangeColumn
from calve.lake.values import is_ordered, to_json


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
        self._files = FileRanges(column, metadata)
        self._lower: Any = None
        self._upper: Any = None
        self._exactness = Exactness.EXACT
        self._unknown: str | None = None
        self._has_null: bool | None = False
        self._has_nan: bool | None = False

    @property
    def unknown(self) -> str | None:
        """Why the range cannot be known, if it cannot."""
        return self._unknown

    def add(self, entry: Entry) -> None:
        """Take a data file into the range."""
        found = self._files.of(entry)
        self._has_null = _either(self._has_null, found.has_null)
        self._has_nan = _either(self._has_nan, found.has_nan)
        if found.unknown is not None:
            self._give_up(found.unknown)
        elif found.lower is not None:
            self._lower = found.lower if self._lower is None else min(self._lower, found.lower)
            self._upper = found.upper if self._upper is None else max(self._upper, found.upper)
            if found.inexact:
                self.mark_inexact()

    def _give_up(self, reason: str) -> None:
        self._exactness = Exactness.UNKNOWN
        self._unknown = self._unknown or f"the range of {self._column.name!r} is unknown: {reason}"

    def mark_inexact(self) -> None:
        """Say that the files hold rows that are not part of the change."""
        if self._exactness is Exactness.EXACT:
            self._exactness = Exactness.INEXACT

    def narrow(self, lower: Any, upper: Any) -> None:
        """Leave out what a filter on the column leaves out: nulls, and values beyond the bounds there are."""
        self._has_null = False
        if upper is not None:
            self._has_nan = False
        if self._unknown is not None and None not in (lower, upper):
            self._lower, self._upper, self._unknown = lower, upper, None
            self._exactness = Exactness.INEXACT
        elif self._lower is not None:
            self._lower = self._lower if lower is None else max(self._lower, lower)
            self._upper = self._upper if upper is None else min(self._upper, upper)

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
