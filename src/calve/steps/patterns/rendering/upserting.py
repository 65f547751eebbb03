"""Rows of the change put into the target by key, so that only the change is moved about.

In a MERGE that also inserts, Spark cannot broadcast the change, and shuffles the target instead. So
it is done in two statements: a MERGE of the rows that match, then an INSERT of those that are not known. Each
lands once, and the second does not run before the first: together they do what one MERGE would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calve.steps.patterns.rendering.merging import Clauses, keys_equal, merge
from calve.steps.patterns.rendering.names import columns, indent
from calve.steps.patterns.rendering.rendered import Sql
from calve.steps.patterns.rendering.request import Request, Target

#: More rows of a change than this are not asked to be broadcast.
BROADCAST_ROWS = 5_000_000


@dataclass(frozen=True, slots=True)
class Upsert:
    """Rows with at most one of each key, what to do with them, and where in the target they can be."""

    rows: str
    match_on: Sequence[str]
    clauses: Clauses
    on_target: Sequence[str]
    never_null: frozenset[str]
    #: True: all in one MERGE, and so in one snapshot.
    atomic: bool = False

    def statements(self, request: Request, comment: str) -> list[Sql]:
        """The statements, in the order in which they have to run."""
        small = request.source.changes.records <= BROADCAST_ROWS
        if self.clauses.updates and (self.atomic or not small):
            return [Sql(self._merge(request, self.rows, self.clauses), comment)]
        inserted = Sql(self._insert(request), f"{comment}: those that the target does not have")
        if not self.clauses.updates and not self.clauses.delete:
            return [inserted]
        broadcast = f"SELECT /*+ BROADCAST(c) */ c.* FROM (\n{indent(self.rows)}\n) AS c"
        matched = self._merge(request, broadcast, replace(self.clauses, inserts=False))
        return [Sql(matched, f"{comment}: those that the target has"), inserted]

    def _merge(self, request: Request, rows: str, clauses: Clauses) -> str:
        equal = keys_equal(self.match_on, self.never_null)
        return merge(request.target, rows, [equal, *self.on_target], clauses)

    def _insert(self, request: Request) -> str:
        """Known keys are found by a join that broadcasts those of the change; the rest is inserted."""
        target, written = request.target, self.clauses.written
        where = f"\n  WHERE {' AND '.join(self.on_target)}" if self.on_target else ""
        hint = f"/*+ {_rebalance(target, written)}, BROADCAST(known) */"
        kept = "" if self.clauses.insert is None else f"\nWHERE {self.clauses.insert}"
        return (
            f"INSERT INTO {target.written} ({columns(written)})\n"
            f"WITH s AS (\n{indent(self.rows)}\n)\n"
            f"SELECT {hint} {columns(written, 's')} FROM s\n"
            f"LEFT ANTI JOIN (\n"
            f"  SELECT /*+ BROADCAST(k) */ {columns(self.match_on, 't')} FROM {target.written} AS t\n"
            f"  LEFT SEMI JOIN (SELECT {columns(self.match_on)} FROM s) AS k\n"
            f"  ON {keys_equal(self.match_on, self.never_null, 't', 'k')}{where}\n"
            f") AS known ON {keys_equal(self.match_on, self.never_null, 's', 'known')}{kept}"
        )


def _rebalance(target: Target, written: Sequence[str]) -> str:
    """A hint for few files: small writes cost by the file, and the table may not distribute them."""
    fields = [field for field in target.partition_fields if field.transform == "identity"]
    by = [field.column for field in fields if field.column in written]
    return f"REBALANCE({columns(by)})" if by else "REBALANCE"
