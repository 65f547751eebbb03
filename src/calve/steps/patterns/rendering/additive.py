"""Aggregates that are added to: only the change is read, and each of its rows counts once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calve.errors import RefusedError, UsageError
from calve.steps.patterns.rendering import stands
from calve.steps.patterns.rendering.merging import Clauses, insert
from calve.steps.patterns.rendering.names import column, columns, indent, quote
from calve.steps.patterns.rendering.pruning import Pruned, never_null, on_source, on_target, split
from calve.steps.patterns.rendering.query import Query
from calve.steps.patterns.rendering.rendered import Rendered, Sql
from calve.steps.patterns.rendering.request import Request, Target
from calve.steps.patterns.rendering.upserting import Upsert

_WAYS = {
    "sum": "coalesce({t} + {s}, {t}, {s})",
    "min": "least({t}, {s})",
    "max": "greatest({t}, {s})",
    "hll": "coalesce(hll_union({t}, {s}), {t}, {s})",
    "theta": "coalesce(theta_union({t}, {s}), {t}, {s})",
}


_COMMENT = "what the change adds to each group, the source not read"


def is_way(text: str) -> bool:
    """Whether a text names one of the ways to add, rather than being an expression."""
    return text.lower() in _WAYS


@dataclass(frozen=True, slots=True)
class Additive:
    """How each column is added to. `count` is the one that counts the rows of a group."""

    ways: Mapping[str, str]
    count: str | None
    atomic: bool

    @classmethod
    def of(cls, ways: Mapping[str, str], count: str | None, atomic: bool, target: Target) -> Additive:
        """With the target's own spelling of columns."""
        own = {target.column(name) or name: way for name, way in ways.items()}
        return cls(own, None if count is None else target.column(count) or count, atomic)

    def values(self) -> dict[str, str]:
        """What each column is after the addition."""
        return {name: _value(name, way) for name, way in self.ways.items()}


def render_additive(
    additive: Additive,
    query: Query,
    keys: Sequence[str],
    written: Sequence[str],
    pruned: Sequence[Pruned],
    request: Request,
) -> Rendered:
    """The change's aggregates added to those of the target; safe because a statement lands once."""
    left = [name for name in written if name not in keys and name not in additive.ways]
    if left:
        raise UsageError(
            "ADDITIVE_INCOMPLETE",
            f"additive does not say how {', '.join(left)} of {request.target.name} is added to",
            "name each column that is no key, as sum, min, max, theta, hll, or an expression over t and s",
        )
    if request.source.removed_table is not None:
        clauses = _clauses_with_removals(additive, keys, written)
        rows = _rows(query, keys, written, pruned, request)
        never = never_null(request, query, keys, pruned)
        upsert = Upsert(rows, keys, clauses, on_target(pruned), never, atomic=True)
        return Rendered(tuple(upsert.statements(request, _COMMENT)))
    parts = split(request, pruned, atomic=additive.atomic)
    statements = [] if parts.new is None else [_insert(query, written, parts.new, request)]
    if parts.late is not None:
        rows = _rows(query, keys, written, parts.late, request)
        clauses = Clauses(written, keys, values=additive.values())
        never = never_null(request, query, keys, parts.late)
        upsert = Upsert(rows, keys, clauses, on_target(parts.late), never, additive.atomic)
        statements += upsert.statements(request, _COMMENT)
    return Rendered(tuple(statements))


def _clauses_with_removals(additive: Additive, keys: Sequence[str], written: Sequence[str]) -> Clauses:
    """A group whose count comes to zero is gone."""
    others = [name for name, way in additive.ways.items() if way.lower() != "sum"]
    if others or additive.count is None:
        missing = (
            f"{', '.join(others)} cannot be taken back" if others else "no count_column tells empty groups"
        )
        raise RefusedError(
            "CHANGE_REMOVES_ROWS",
            f"rows of the source went, and {missing}",
            "leave additive out, so that groups are made anew, or give only sums and a count_column",
        )
    values = additive.values()
    gone = [f"{values[additive.count]} = 0"]
    return Clauses(written, keys, gone, insert=f"s.{quote(additive.count)} <> 0", values=values)


def _insert(query: Query, written: Sequence[str], new: Sequence[Pruned], request: Request) -> Sql:
    reading = query.reading(stands.came(request.source, on_source(new)))
    text = insert(request.target, written, reading)
    return Sql(text, "groups of partitions that the target does not have yet")


def _rows(
    query: Query, keys: Sequence[str], written: Sequence[str], pruned: Sequence[Pruned], request: Request
) -> str:
    """The groups of the change; what went counts below zero."""
    source = request.source
    conditions = on_source(pruned)
    went = stands.went(source, conditions)
    # Either both sides leave out the rows that were carried along, or they cancel.
    reading = query.reading(stands.came(source, conditions))
    if went is None:
        return reading
    minus = query.reading(went)
    others = [name for name in written if name not in keys]
    negated = ", ".join(f"-{column(name)} AS {quote(name)}" for name in others)
    summed = ", ".join(f"sum({column(name)}) AS {quote(name)}" for name in others)
    return (
        f"SELECT {columns(keys)}, {summed} FROM (\n"
        f"  SELECT {columns(keys)}, {columns(others)} FROM (\n{indent(reading, 2)}\n  )\n  UNION ALL\n"
        f"  SELECT {columns(keys)}, {negated} FROM (\n{indent(minus, 2)}\n  )\n) GROUP BY {columns(keys)}"
    )


def _value(name: str, way: str) -> str:
    known = _WAYS.get(way.lower())
    if known is None:
        return f"({way})"
    return known.format(t=column(name, "t"), s=column(name, "s"))
