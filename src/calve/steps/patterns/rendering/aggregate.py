"""IncrementalAggregate: groups whose rows changed are made anew from the source, or added to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calve.steps.patterns.rendering import stands
from calve.steps.patterns.rendering.additive import Additive, render_additive
from calve.steps.patterns.rendering.changed_keys import ChangedKeys
from calve.steps.patterns.rendering.current import Current, read_current
from calve.steps.patterns.rendering.merging import (
    HERE,
    Clauses,
    all_columns,
    insert,
    keys_equal,
    merge,
    own_keys,
    replace_where,
    written_columns,
)
from calve.steps.patterns.rendering.names import column, columns, indent
from calve.steps.patterns.rendering.pruning import Pruned, never_null, on_source, on_target, prune, split
from calve.steps.patterns.rendering.query import Query
from calve.steps.patterns.rendering.rendered import Rendered, Sql
from calve.steps.patterns.rendering.request import Request


@dataclass(frozen=True, slots=True)
class AggregatePlan:
    """What is aggregated, by which keys; each key may be an expression over the source."""

    query: str
    keys: Mapping[str, str | None]
    #: `column = literal`: the part of the target that is overwritten rather than merged.
    current: str | None = None
    #: Columns that are added to, and how: sum, min, max, hll, or an expression over t and s.
    additive: Mapping[str, str] = field(default_factory=dict)
    #: The column that counts the rows of a group: at zero the group is gone.
    count_column: str | None = None
    atomic: bool = False
    partition_columns: Mapping[str, str] = field(default_factory=dict)


def render(plan: AggregatePlan, request: Request) -> Rendered:
    """New and current partitions written whole, the changed groups of all others merged."""
    if not request.has_changes:
        return Rendered()
    target = request.target
    query = Query(plan.query, request.source.names)
    keys = own_keys(target, list(plan.keys))
    written = written_columns(target, query, keys)
    stated = {name: text for name, text in plan.keys.items() if text is not None}
    pruned = prune(request, query, [key for key in keys if key not in stated], plan.partition_columns)
    if plan.additive:
        additive = Additive.of(plan.additive, plan.count_column, plan.atomic, target)
        return render_additive(additive, query, keys, written, pruned, request)
    expressions = {own: text for own, name in zip(keys, plan.keys, strict=True) if (text := plan.keys[name])}
    parts = _Aggregate(request, query, keys, written, ChangedKeys(request.source, query, keys, expressions))
    return parts.render(plan, pruned)


@dataclass(frozen=True, slots=True)
class _Aggregate:
    request: Request
    query: Query
    keys: Sequence[str]
    written: Sequence[str]
    changed: ChangedKeys

    def render(self, plan: AggregatePlan, pruned: Sequence[Pruned]) -> Rendered:
        statements: list[Sql] = []
        late: Sequence[Pruned] | None = pruned
        outside: list[str] = []
        if plan.current is not None:
            current = read_current(plan.current, self.request, self.query, self.keys)
            statements += [self._overwrite(current)] if current.is_touched(pruned) else []
            late, outside = current.others(pruned), [current.outside()]
        if late is not None and self.request.source.removed_table is None:
            parts = split(self.request, late, atomic=plan.atomic)
            statements += [] if parts.new is None else [self._insert(parts.new, outside)]
            late = parts.late
        statements += [] if late is None else [self._merge(late, outside)]
        return Rendered(tuple(statements), self._notes(pruned))

    def _notes(self, pruned: Sequence[Pruned]) -> tuple[str, ...]:
        if pruned:
            return ()
        return (
            (
                "the source and the target are not pruned: no key is a partition or range column of "
                "the source; if a group never reaches over partitions, say so with partition_column"
            ),
        )

    def _over_state(self, conditions: Sequence[str]) -> str:
        return self.query.reading(stands.state(self.request.source, conditions))

    def _overwrite(self, current: Current) -> Sql:
        reading = self._over_state([current.condition()])
        target = self.request.target
        listed = columns(all_columns(target, self.query))
        rows = f"SELECT {listed} FROM (\n{indent(reading)}\n) AS q"
        text = replace_where(target, current.condition(), rows)
        return Sql(text, f"{current.condition()}: written whole, no key is looked up")

    def _insert(self, new: Sequence[Pruned], outside: Sequence[str]) -> Sql:
        reading = self._over_state([*on_source(new), *outside])
        text = insert(self.request.target, self.written, reading)
        return Sql(text, "partitions that the target does not have yet, written whole")

    def _merge(self, late: Sequence[Pruned], outside: Sequence[str]) -> Sql:
        conditions = [*on_source(late), *outside]
        changed = self.changed.sql(conditions)
        rows = self.changed.query_over(changed, conditions)
        target = self.request.target
        never = never_null(self.request, self.query, self.keys, late)
        on = [keys_equal(self.keys, never), *on_target(late)]
        if self.request.source.removed_table is None:
            using, clauses = rows, Clauses(self.written, self.keys)
        else:
            using = self._with_gone(changed, rows)
            clauses = Clauses(
                self.written, self.keys, delete=[f"s.{HERE} IS NULL"], insert=f"s.{HERE} IS NOT NULL"
            )
        return Sql(
            merge(target, using, on, clauses),
            "the groups that changed, made anew from the source and merged by key",
        )

    def _with_gone(self, changed: str, rows: str) -> str:
        """All changed groups; those without rows have nothing beside their keys."""
        listed = ", ".join(column(name, "k" if name in self.keys else "n") for name in self.written)
        return (
            f"SELECT {listed}, n.{HERE}\nFROM (\n{indent(changed)}\n) AS k\n"
            f"LEFT JOIN (SELECT *, TRUE AS {HERE} FROM (\n{indent(rows)}\n)) AS n\n"
            f"ON {keys_equal(self.keys, frozenset(), 'k', 'n')}"
        )
