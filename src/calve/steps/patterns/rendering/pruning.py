"""Which columns of the target can be pruned by what the capture says, and which of its partitions are new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calve.errors import UsageError
from calve.steps.patterns.rendering.filters import ColumnFilter
from calve.steps.patterns.rendering.query import Query
from calve.steps.patterns.rendering.request import Request


@dataclass(frozen=True, slots=True)
class Pruned:
    """A condition that holds for all rows of the change, on the source and on the target."""

    on_source: ColumnFilter
    on_target: ColumnFilter
    #: Whether both say the same of the same values, so that they can be taken apart by value.
    is_same: bool

    def split(self, new: Sequence[object]) -> tuple[Pruned, Pruned]:
        """The part with some of the values, and the rest."""
        chosen = [value for value in self.on_source.values if value in new]
        fresh = Pruned(self.on_source.only(chosen), self.on_target.only(chosen), True)
        late = Pruned(self.on_source.without(chosen), self.on_target.without(chosen), True)
        return fresh, late


@dataclass(frozen=True, slots=True)
class Split:
    """The change in two parts: of partitions that the target lacks, and of all others."""

    new: tuple[Pruned, ...] | None
    late: tuple[Pruned, ...] | None


def prune(
    request: Request, query: Query, keys: Sequence[str], stated: Mapping[str, str]
) -> tuple[Pruned, ...]:
    """What can be said of columns of the target.

    A key that the query takes from the source as it is has the same values in the target as in the change.
    Of other columns the user says so (`stated`: of the target, of the source): a key stays where it is.
    """
    found: list[Pruned] = []
    for name in keys:
        if name.lower() not in {own.lower() for own in stated} and query.passes(name):
            source = next((own for own in request.source.columns if own.lower() == name.lower()), None)
            found += [] if source is None else _same(request, name, source)
    for name, source in stated.items():
        found += _stated(request, name, source)
    return tuple(found)


def _same(request: Request, target: str, source: str) -> list[Pruned]:
    own = request.target.column(target)
    if own is None:
        return []
    return [Pruned(found, replace(found, column=own), True) for found in request.source.filters(source)]


def _stated(request: Request, target: str, source: str) -> list[Pruned]:
    own = request.target.column(target)
    if own is None:
        raise _no_column(request.target.name, target, request.target.columns)
    if source not in request.source.columns:
        raise _no_column(request.source.changes.table, source, request.source.columns)
    if request.target.columns[own] != "date" or request.source.columns[source] == "date":
        return _same(request, target, source)
    dated = [(found, found.as_dates()) for found in request.source.filters(source)]
    return [Pruned(found, replace(dates, column=own), False) for found, dates in dated if dates is not None]


def _no_column(table: str, name: str, columns: Mapping[str, str]) -> UsageError:
    return UsageError(
        "COLUMN_NOT_FOUND",
        f"{table} has no column '{name}'; it has {', '.join(columns)}",
        "correct partition_column",
    )


def split(request: Request, pruned: Sequence[Pruned], *, atomic: bool = False) -> Split:
    """The change taken apart by the first column that tells new partitions of the target from others."""
    for at, found in enumerate(() if atomic else pruned):
        missing = request.target.missing.get(found.on_target.column, frozenset())
        new = [value for value in found.on_source.values if value in missing]
        if not new or not found.is_same or found.on_source.spans:
            continue
        fresh, late = found.split(new)
        others = (*pruned[:at], *pruned[at + 1 :])
        return Split((fresh, *others), None if late.on_source.is_empty else (late, *others))
    return Split(None, tuple(pruned))


def never_null(
    request: Request, query: Query, columns: Sequence[str], pruned: Sequence[Pruned]
) -> frozenset[str]:
    """Columns of which the change, or the target, has no null for sure: comparing these by `=` is cheaper."""
    told = {found.on_target.column for found in pruned if found.is_same and not found.on_source.has_null}
    given = {name.lower() for name in request.source.required}
    return request.target.required | frozenset(
        name
        for name in columns
        if name in told or query.is_never_null(name) or (name.lower() in given and query.passes(name))
    )


def on_source(pruned: Sequence[Pruned], table: str | None = None) -> list[str]:
    """The conditions on the source."""
    return [found.on_source.sql(table) for found in pruned]


def on_target(pruned: Sequence[Pruned], table: str = "t") -> list[str]:
    """The conditions on the target."""
    return [found.on_target.sql(table) for found in pruned]
