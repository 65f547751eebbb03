"""What a captured change says about a column, as a condition with literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from calve.lake.model import ColumnRange, Exactness
from calve.steps.patterns.rendering.names import column
from calve.steps.patterns.rendering.values import (
    Value,
    begin_of,
    is_nan,
    literal,
    next_moment,
    read_value,
)

_MOST_VALUES = 400
_MOST_SPANS = 50
_TIME_TRANSFORMS = ("year", "month", "day", "hour")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """How a table's partitions are made from one of its columns."""

    name: str
    column: str
    kind: str
    transform: str


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of values. `upper` is in it only if `closed`; None is no bound."""

    lower: Value | None
    upper: Value | None
    closed: bool = True


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """The values that a column can have in the rows that changed: a superset, never less."""

    column: str
    kind: str
    values: tuple[Value, ...] = ()
    spans: tuple[Span, ...] = ()
    has_null: bool = False
    has_nan: bool = False

    def sql(self, table: str | None = None, name: str | None = None) -> str:
        """The condition on a column, by default of the same name."""
        at = column(name or self.column, table)
        found = (
            [f"{at} IN ({', '.join(literal(self.kind, value) for value in self.values)})"]
            if self.values
            else []
        )
        found += [_span_sql(at, self.kind, span) for span in self.spans]
        found += [f"{at} IS NULL"] if self.has_null else []
        found += [f"isnan({at})"] if self.has_nan else []
        if not found:
            return "FALSE"
        return found[0] if len(found) == 1 else f"({' OR '.join(found)})"

    def only(self, values: Iterable[Value]) -> ColumnFilter:
        """The same column, narrowed to some of its values."""
        return replace(self, values=tuple(values), spans=(), has_null=False, has_nan=False)

    def without(self, values: Iterable[Value]) -> ColumnFilter:
        """The same column without some of its values."""
        gone = set(values)
        return replace(self, values=tuple(value for value in self.values if value not in gone))

    @property
    def is_empty(self) -> bool:
        """Whether no row can fulfil it."""
        return not (self.values or self.spans or self.has_null or self.has_nan)

    def as_dates(self) -> ColumnFilter | None:
        """What it says about the date of the column; None where it is no date or time.

        A moment with a zone may fall on the day before or after, by the zone of who asks.
        """
        if self.kind not in ("timestamp", "timestamptz", "date"):
            return None
        slack = timedelta(days=1 if self.kind == "timestamptz" else 0)
        spans = [Span(value, value) for value in self.values] + list(self.spans)
        dated = tuple(Span(_day(span.lower, -slack), _day(span.upper, slack)) for span in spans)
        return ColumnFilter(self.column, "date", (), dated, self.has_null)


def _day(value: Value | None, slack: timedelta) -> date | None:
    if value is None:
        return None
    assert isinstance(value, date)
    return (value.date() if isinstance(value, datetime) else value) + slack


def _span_sql(at: str, kind: str, span: Span) -> str:
    parts = [] if span.lower is None else [f"{at} >= {literal(kind, span.lower)}"]
    if span.upper is not None:
        parts.append(f"{at} {'<=' if span.closed else '<'} {literal(kind, span.upper)}")
    if not parts:
        return f"{at} IS NOT NULL"
    return parts[0] if len(parts) == 1 else f"({' AND '.join(parts)})"


def filter_of_range(name: str, kind: str, found: ColumnRange) -> ColumnFilter | None:
    """What a range says; None where it is unknown."""
    if found.exactness is Exactness.UNKNOWN:
        return None
    null, nan = found.has_null is not False, found.has_nan is not False and kind in ("float", "double")
    if found.lower is None and found.upper is None:
        return ColumnFilter(name, kind, has_null=True, has_nan=nan)
    lower, upper = read_value(kind, found.lower), read_value(kind, found.upper)
    if lower is None or upper is None:
        return None
    return ColumnFilter(name, kind, spans=(Span(lower, upper),), has_null=null, has_nan=nan)


def filter_of_partitions(
    field: PartitionField, partitions: Sequence[Mapping[str, Any]]
) -> ColumnFilter | None:
    """What the partitions of a change say about the column of a field; None if they do not tell."""
    raws = [partition.get(field.name, ...) for partition in partitions]
    if not raws or any(raw is ... for raw in raws):
        return None
    present = [raw for raw in dict.fromkeys(raws) if raw is not None]
    null = None in raws
    if field.transform == "identity":
        return _of_values(field, present, null)
    if field.transform in _TIME_TRANSFORMS:
        return _of_times(field, present, null)
    return None


def _of_values(field: PartitionField, present: Sequence[Any], null: bool) -> ColumnFilter | None:
    values = [read_value(field.kind, raw) for raw in present]
    numbers = [value for value in values if value is not None and not is_nan(value)]
    nan = any(is_nan(value) for value in values)
    if None in values:
        return None
    ordered: list[Any] = sorted(numbers)
    if len(ordered) > _MOST_VALUES:
        return ColumnFilter(field.column, field.kind, (), (Span(ordered[0], ordered[-1]),), null, nan)
    return ColumnFilter(field.column, field.kind, tuple(ordered), (), null, nan)


def _of_times(field: PartitionField, present: Sequence[str], null: bool) -> ColumnFilter | None:
    if field.kind not in ("date", "timestamp", "timestamptz"):
        return None
    try:
        begins: list[Any] = sorted(begin_of(field.kind, raw, field.transform) for raw in present)
        spans = _joined([(begin, next_moment(field.kind, begin, field.transform)) for begin in begins])
    except (ValueError, OverflowError):
        return None
    if len(spans) > _MOST_SPANS:
        spans = [Span(spans[0].lower, spans[-1].upper, closed=False)]
    return ColumnFilter(field.column, field.kind, (), tuple(spans), null)


def _joined(stretches: Sequence[tuple[Any, Any]]) -> list[Span]:
    """Stretches in order, those that touch made one."""
    spans: list[Span] = []
    for lower, upper in stretches:
        if spans and spans[-1].upper == lower:
            spans[-1] = Span(spans[-1].lower, upper, closed=False)
        else:
            spans.append(Span(lower, upper, closed=False))
    return spans
