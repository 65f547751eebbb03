"""IncrementalMerge: the newest row of each key of the change goes to the target, by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calve.steps.patterns.rendering import stands
from calve.steps.patterns.rendering.merging import (
    HERE,
    Clauses,
    deduplicated,
    insert,
    keys_equal,
    merge,
    not_before,
    order_terms,
    own_keys,
    without_repeats,
    written_columns,
)
from calve.steps.patterns.rendering.names import columns, indent
from calve.steps.patterns.rendering.pruning import Pruned, never_null, on_source, on_target, prune, split
from calve.steps.patterns.rendering.query import Query
from calve.steps.patterns.rendering.rendered import Rendered, Sql
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.rendering.upserting import Upsert


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What is merged, by which keys, and which row of a key counts."""

    query: str
    keys: Sequence[str]
    order_by: Sequence[str] = ()
    update_when: str | None = None
    delete_when: str | None = None
    updates: bool = True
    unique_source: bool = False
    #: Columns that rows are found by in the target, in the place of the keys: a hash of them, for example.
    match_on: Sequence[str] = ()
    atomic: bool = False
    #: Few keys come again within a change, and never level in the order, which is one column.
    rare_repeats: bool = False
    #: Columns of the target that a key never changes, and the columns of the source that they are.
    partition_columns: Mapping[str, str] = field(default_factory=dict)


def render(plan: MergePlan, request: Request) -> Rendered:
    """MERGE by key, the part of the change that goes to new partitions as a plain INSERT."""
    return _Merge(plan, request).render() if request.has_changes else Rendered()


class _Merge:
    def __init__(self, plan: MergePlan, request: Request) -> None:
        self.plan, self.request = plan, request
        self.source, self.target = request.source, request.target
        self.query = Query(plan.query, request.source.names)
        self.keys = own_keys(self.target, plan.keys)
        self.match_on = own_keys(self.target, plan.match_on or plan.keys)
        self.written = written_columns(self.target, self.query, [*self.keys, *self.match_on])
        self.notes: list[str] = []

    def render(self) -> Rendered:
        pruned = prune(self.request, self.query, self.keys, self.plan.partition_columns)
        if not pruned:
            self.notes.append(
                "the target is not pruned: no key is a partition or range column of the source; "
                "if a key never changes its partition, say so with partition_column"
            )
        if self.source.removed_table is not None:
            statements = [self._merge_with_removals(pruned)]
        else:
            parts = split(self.request, pruned, atomic=self.plan.atomic)
            statements = [] if parts.new is None else [self._insert(parts.new)]
            statements += [] if parts.late is None else self._upsert(parts.late)
        return Rendered(tuple(statements), tuple(self.notes))

    def _reading(self, stand: str) -> str:
        return self.query.reading(stand)

    def _rows(self, pruned: Sequence[Pruned]) -> str:
        reading = self._reading(stands.came(self.source, on_source(pruned)))
        return deduplicated(reading, self.keys, self.plan.order_by)

    def _new_rows(self, new: Sequence[Pruned]) -> str:
        """New partitions are most of a change: where repeats are rare, their rows are not shuffled."""
        terms = order_terms(self.plan.order_by) or []
        if not self.plan.rare_repeats or len(terms) != 1:
            return self._rows(new)
        reading = self._reading(stands.came(self.source, on_source(new)))
        return without_repeats(reading, self.keys, terms[0], self.target.required)

    def _insert(self, new: Sequence[Pruned]) -> Sql:
        kept = f"\nWHERE NOT coalesce(({self.plan.delete_when}), FALSE)" if self.plan.delete_when else ""
        text = insert(self.target, self.written, self._new_rows(new)) + kept
        return Sql(text, "rows of partitions that the target does not have yet: nothing there to merge with")

    def _upsert(self, late: Sequence[Pruned]) -> list[Sql]:
        clauses = self._clauses(self._order_condition())
        never = never_null(self.request, self.query, self.match_on, late)
        upsert = Upsert(self._rows(late), self.match_on, clauses, on_target(late), never, self.plan.atomic)
        return upsert.statements(self.request, "rows of the change by key")

    def _order_condition(self) -> str | None:
        if not self.plan.updates:
            return None
        if not self.plan.order_by:
            self.notes.append("without order_by, the rows of the newest capture count")
            return None
        terms = order_terms(self.plan.order_by)
        condition = None if terms is None else not_before(terms, self.target)
        if condition is None:
            self.notes.append(
                "the target does not have the columns of order_by, so a late row that is older than the one "
                "in the target takes its place"
            )
        return condition

    def _clauses(self, order: str | None) -> Clauses:
        plan = self.plan
        fresh = [] if order is None else [f"({order})"]
        deletes = [" AND ".join([f"({plan.delete_when})", *fresh])] if plan.delete_when else []
        wanted = [*fresh, *([f"({plan.update_when})"] if plan.update_when else [])]
        return Clauses(
            self.written,
            self.keys,
            delete=deletes,
            update=" AND ".join(wanted) or None,
            updates=plan.updates,
            insert=f"NOT coalesce(({plan.delete_when}), FALSE)" if plan.delete_when else None,
        )

    # Where rows went

    def _merge_with_removals(self, pruned: Sequence[Pruned]) -> Sql:
        """Rows of all keys that came or went as they are now; keys that have none left are deleted."""
        conditions = on_source(pruned)
        came = self._keys_of(stands.came(self.source, conditions))
        went = self._keys_of(stands.went(self.source, conditions) or "")
        changed = f"{came}\nUNION\n{went}"
        rows = self._rows_now(changed, conditions)
        using = (
            f"SELECT {columns(self.keys, 'k')}, n.* EXCEPT ({columns(self.keys)})\n"
            f"FROM (\n{indent(changed)}\n) AS k\n"
            f"LEFT JOIN (SELECT *, TRUE AS {HERE} FROM (\n{indent(rows)}\n)) AS n\n"
            f"ON {keys_equal(self.keys, frozenset(), 'k', 'n')}"
        )
        deleted = [f"s.{HERE} IS NULL", *([f"({self.plan.delete_when})"] if self.plan.delete_when else [])]
        kept = f" AND NOT coalesce(({self.plan.delete_when}), FALSE)" if self.plan.delete_when else ""
        update = f"({self.plan.update_when})" if self.plan.update_when else None
        clauses = Clauses(
            self.written, self.keys, deleted, update, self.plan.updates, f"s.{HERE} IS NOT NULL{kept}"
        )
        never = never_null(self.request, self.query, self.keys, pruned)
        on = [keys_equal(self.keys, never), *on_target(pruned)]
        return Sql(
            merge(self.target, using, on, clauses),
            "rows of the keys that changed as they are now; keys that are gone from the source are deleted",
        )

    def _keys_of(self, stand: str) -> str:
        return f"SELECT DISTINCT {columns(self.keys)} FROM (\n{indent(self._reading(stand))}\n)"

    def _rows_now(self, changed: str, conditions: Sequence[str]) -> str:
        if self.plan.unique_source:
            # A key that was in a changed file and is still there is in a changed file now.
            reading = self._reading(stands.touched(self.source, conditions))
        else:
            reading = self._reading(stands.state(self.source, conditions))
        equal = keys_equal(self.keys, frozenset(), "q", "k")
        narrowed = (
            f"SELECT /*+ BROADCAST(k) */ q.* FROM (\n{indent(reading)}\n) AS q\n"
            f"LEFT SEMI JOIN (\n{indent(changed)}\n) AS k ON {equal}"
        )
        return deduplicated(narrowed, self.keys, self.plan.order_by)
