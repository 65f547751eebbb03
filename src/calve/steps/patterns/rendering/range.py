"""IncrementalRange: everything from the earliest affected point on is made anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from calve.errors import RefusedError, UsageError
from calve.steps.patterns.rendering import stands
from calve.steps.patterns.rendering.filters import ColumnFilter, Span, filter_of_range
from calve.steps.patterns.rendering.merging import Clauses, all_columns, merge, replace_where
from calve.steps.patterns.rendering.names import columns, indent
from calve.steps.patterns.rendering.query import Query
from calve.steps.patterns.rendering.rendered import Rendered, Sql
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.rendering.values import Value, floor_to

_TIME_TRANSFORMS = ("hour", "day", "month", "year")

#: A duration, a number for a column of numbers, or everything.
Context = timedelta | int | Literal["all"] | None


@dataclass(frozen=True, slots=True)
class RangePlan:
    """What is made anew, from which point of which column on."""

    query: str
    range_column: str
    #: The target's column of it, if it has another name; a date, if the source has times.
    target_column: str | None = None
    #: How much the query has to see of what lies before.
    context_before: Context = None


@dataclass(frozen=True, slots=True)
class _Cut:
    """From where on: what is made anew of the target, and what the query has to see of the source."""

    column: str
    made_anew: ColumnFilter
    seen: ColumnFilter | None
    is_aligned: bool

    def on_target(self, table: str | None = None) -> str:
        """The condition on the target."""
        return self.made_anew.sql(table, self.column)


def render(plan: RangePlan, request: Request) -> Rendered:
    """The target overwritten from the range's lower bound on, in one statement."""
    if not request.has_changes:
        return Rendered()
    query, target = Query(plan.query, request.source.names), request.target
    listed = all_columns(target, query)
    cut = _cut(plan, request)
    if isinstance(cut, str):
        return _everything(query, listed, cut, request)
    seen = [] if cut.seen is None else [cut.seen.sql()]
    reading = query.reading(stands.state(request.source, seen))
    rows = f"SELECT {columns(listed)} FROM (\n{indent(reading)}\n) AS q\nWHERE {cut.on_target()}"
    comment = f"everything from the earliest affected point on: {cut.on_target()}"
    if cut.is_aligned:
        text = replace_where(target, cut.on_target(), rows)
        return Rendered((Sql(text, comment),))
    # No row is matched, so all old ones go and all new ones come, in one commit.
    text = (
        f"{merge(target, rows, ['FALSE'], Clauses(listed, listed))}\n"
        f"WHEN NOT MATCHED BY SOURCE AND {cut.on_target('t')} THEN DELETE"
    )
    note = (
        f"{target.name} is not partitioned by the range column, so its files are looked through by a MERGE; "
        "partition it by the column, and whole files are exchanged"
    )
    return Rendered((Sql(text, comment),), (note,))


def _everything(query: Query, listed: list[str], reason: str, request: Request) -> Rendered:
    reading = query.reading(stands.state(request.source))
    rows = f"SELECT {columns(listed)} FROM (\n{indent(reading)}\n) AS q"
    text = replace_where(request.target, "TRUE", rows)
    return Rendered((Sql(text, f"everything: {reason}"),), (f"everything is made anew: {reason}",))


def _cut(plan: RangePlan, request: Request) -> _Cut | str:
    """Where the target is cut; or why it cannot be."""
    target = request.target
    found = _filter(plan, request)
    own = target.column(plan.target_column or plan.range_column)
    if own is None:
        raise _no_column(target.name, plan.target_column or plan.range_column, list(target.columns))
    if found is None:
        return f"the range of {plan.range_column} is not known"
    lower = found.spans[0].lower if found.spans else None
    if found.has_null or found.has_nan or lower is None:
        return f"rows of the change have no {plan.range_column}, and so no place in its order"
    return _cut_at(lower, own, plan.context_before, found, request)


def _cut_at(lower: Value, own: str, context: Context, found: ColumnFilter, request: Request) -> _Cut:
    kind, target_kind = found.kind, request.target.columns[own]
    if target_kind == "date" and kind == "timestamptz":
        # By the zone of whoever runs the query, the day may be the one before, and begin earlier.
        lower = _day(lower) - timedelta(days=1)
        day = timedelta(days=1)
        context = day + context if isinstance(context, timedelta) else context or day
    elif target_kind == "date" and kind == "timestamp":
        lower = _day(lower)
    lower, is_aligned = _aligned(own, lower, request)
    anew = replace(found, kind=target_kind, spans=(Span(lower, None),))
    begin = _before(_as_kind(lower, kind), context)
    seen = None if begin is None else replace(found, spans=(Span(begin, None),))
    return _Cut(own, anew, seen, is_aligned)


def _day(moment: Value) -> date:
    assert isinstance(moment, datetime)
    return moment.date()


def _filter(plan: RangePlan, request: Request) -> ColumnFilter | None:
    source = request.source
    if plan.range_column not in source.columns:
        raise _no_column(source.changes.table, plan.range_column, list(source.columns))
    found = source.changes.ranges.get(plan.range_column)
    if found is not None:
        return filter_of_range(plan.range_column, source.columns[plan.range_column], found)
    by_partition = source.filters(plan.range_column)
    if not by_partition:
        raise RefusedError(
            "RANGE_NOT_CAPTURED",
            f"the capture has no range of {plan.range_column} of {source.changes.table}",
            f"add range_columns: [{plan.range_column}] to the capture step",
        )
    partitions = by_partition[0]
    bounds: list[Any] = [*partitions.values, *(span.lower for span in partitions.spans)]
    spans = (Span(min(bounds), None),) if bounds else ()
    return replace(partitions, values=(), spans=spans)


def _aligned(own: str, lower: Value, request: Request) -> tuple[Value, bool]:
    """The bound moved back to where a partition of the target begins, if partitions follow the column."""
    for field in request.target.partition_fields:
        if field.column == own and field.transform in _TIME_TRANSFORMS:
            return floor_to(lower, field.transform), True
        if field.column == own and field.transform == "identity":
            return lower, True
    return lower, False


def _as_kind(lower: Value, kind: str) -> Value:
    if kind in ("timestamp", "timestamptz") and isinstance(lower, date) and not isinstance(lower, datetime):
        return datetime(lower.year, lower.month, lower.day)  # noqa: DTZ001  values are in UTC or have no zone
    return lower


def _before(lower: Value, context: Context) -> Value | None:
    """Where the query begins to see; None if it has to see everything."""
    if context == "all":
        return None
    if context is None:
        return lower
    if isinstance(context, timedelta) and isinstance(lower, date):
        return lower - context
    if isinstance(context, int) and isinstance(lower, int | float | Decimal):
        return lower - context
    raise UsageError(
        "CONTEXT_INVALID",
        f"context_before is {context!r}, and the range column has values as {lower!r}",
        "give a duration for dates and times, a number for numbers, or 'all'",
    )


def _no_column(table: str, name: str, known: list[str]) -> UsageError:
    return UsageError(
        "COLUMN_NOT_FOUND",
        f"{table} has no column '{name}'; it has {', '.join(known)}",
        "correct range_column",
    )
