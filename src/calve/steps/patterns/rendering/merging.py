"""The pieces of a MERGE: keys compared, order compared, clauses, rows of a key reduced to one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calve.errors import UsageError
from calve.steps.patterns.rendering.names import column, columns, indent, quote
from calve.steps.patterns.rendering.query import Query
from calve.steps.patterns.rendering.request import Target

RANK = "_calve_rank"
HERE = "_calve_here"
FIRST = "_calve_first"
_TERM = re.compile(r"`?([A-Za-z_]\w*)`?(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """A column that rows of a key are ordered by."""

    column: str
    descending: bool
    nulls_first: bool


def order_terms(order_by: Sequence[str]) -> list[OrderTerm] | None:
    """The order as columns; None if it is made of expressions."""
    found = [_TERM.fullmatch(term.strip()) for term in order_by]
    terms = []
    for match in found:
        if match is None:
            return None
        descending = (match[2] or "").upper() == "DESC"
        first = not descending if match[3] is None else match[3].upper() == "FIRST"
        terms.append(OrderTerm(match[1], descending, first))
    return terms


def not_before(terms: Sequence[OrderTerm], target: Target) -> str | None:
    """That the row of the change comes first in the order, or is level; None if the target lacks a column."""
    condition = ""
    for term in reversed(terms):
        own = target.column(term.column)
        if own is None:
            return None
        new, old = column(own, "s"), column(own, "t")
        ahead = f"{new} {'>' if term.descending else '<'} {old}"
        null = (new, old) if term.nulls_first else (old, new)
        ahead = f"{ahead} OR ({null[0]} IS NULL AND {null[1]} IS NOT NULL)"
        level = f"{new} <=> {old}" + (f" AND ({condition})" if condition else "")
        condition = f"{ahead} OR ({level})" if condition else f"{ahead} OR {level}"
    return condition or None


def keys_equal(keys: Sequence[str], required: frozenset[str], left: str = "t", right: str = "s") -> str:
    """That two rows have the same keys. Null is a key like any other, where a column may be null."""
    return " AND ".join(
        f"{column(key, left)} {'=' if key in required else '<=>'} {column(key, right)}" for key in keys
    )


def deduplicated(query: str, keys: Sequence[str], order_by: Sequence[str]) -> str:
    """The first row of each key."""
    order = ", ".join(order_by) if order_by else columns(keys)
    ranked = (
        f"SELECT q.*, row_number() OVER (PARTITION BY {columns(keys)} ORDER BY {order}) AS {RANK}\n"
        f"FROM (\n{indent(query)}\n) AS q"
    )
    return f"SELECT * FROM (\n{indent(ranked)}\n) WHERE {RANK} = 1"


def without_repeats(query: str, keys: Sequence[str], order: OrderTerm, required: frozenset[str]) -> str:
    """The first row of each key, if no two rows of a key are level in the order.

    Rows stay where they are: only keys and the order's column are moved, and the few keys that come again
    are brought to the rows.
    """
    best, behind = ("max", "<") if order.descending else ("min", ">")
    again = (
        f"SELECT {columns(keys)}, {best}({column(order.column)}) AS {FIRST}\n"
        f"FROM q GROUP BY {columns(keys)} HAVING count(*) > 1"
    )
    return (
        f"WITH q AS (\n{indent(query)}\n), again AS (\n{indent(again)}\n)\n"
        f"SELECT /*+ BROADCAST(again) */ q.* FROM q LEFT ANTI JOIN again\n"
        f"ON {keys_equal(keys, required, 'q', 'again')} "
        f"AND {column(order.column, 'q')} {behind} again.{FIRST}"
    )


def written_columns(target: Target, query: Query, keys: Sequence[str]) -> list[str]:
    """The columns of the target that the query gives. Raises COLUMN_NOT_FOUND if a key is not among them."""
    outputs = query.outputs
    given = {name.lower() for name in outputs} if outputs is not None else None
    found = [name for name in target.columns if given is None or name.lower() in given]
    for key in keys:
        if key not in found:
            have = ", ".join(target.columns if key not in target.columns else outputs or ())
            where = target.name if key not in target.columns else "the query"
            raise UsageError(
                "COLUMN_NOT_FOUND",
                f"{where} has no column '{key}'; it has {have}",
                "correct 'keys' or the query",
            )
    return found


def own_keys(target: Target, keys: Sequence[str]) -> list[str]:
    """The keys in the target's own spelling."""
    return [target.column(key) or key for key in keys]


@dataclass(frozen=True, slots=True)
class Clauses:
    """What a MERGE does with rows that it finds, and with those that it does not."""

    written: Sequence[str]
    keys: Sequence[str]
    delete: Sequence[str] = ()
    update: str | None = None
    updates: bool = True
    insert: str | None = None
    #: Values of columns that are not simply those of the source.
    values: Mapping[str, str] | None = None
    inserts: bool = True

    def sql(self) -> str:
        """The clauses, in the order in which the first that fits counts."""
        lines = [f"WHEN MATCHED AND {condition} THEN DELETE" for condition in self.delete]
        changed = [name for name in self.written if name not in self.keys]
        if self.updates and changed:
            values = self.values or {}
            listed = ", ".join(f"{quote(name)} = {values.get(name, column(name, 's'))}" for name in changed)
            lines.append(f"WHEN MATCHED{_and(self.update)} THEN UPDATE SET {listed}")
        if not self.inserts:
            return "\n".join(lines)
        lines.append(
            f"WHEN NOT MATCHED{_and(self.insert)} THEN INSERT ({columns(self.written)}) "
            f"VALUES ({columns(self.written, 's')})"
        )
        return "\n".join(lines)


def _and(condition: str | None) -> str:
    return "" if condition is None else f" AND {condition}"


def merge(target: Target, using: str, on: Sequence[str], clauses: Clauses) -> str:
    """A MERGE."""
    return (
        f"MERGE INTO {target.written} AS t\nUSING (\n{indent(using)}\n) AS s\n"
        f"ON {' AND '.join(on)}\n{clauses.sql()}"
    )


def insert(target: Target, written: Sequence[str], rows: str) -> str:
    """An INSERT of all rows of a query."""
    listed = columns(written)
    return f"INSERT INTO {target.written} ({listed})\nSELECT {listed} FROM (\n{indent(rows)}\n) AS s"


def replace_where(target: Target, condition: str, rows: str) -> str:
    """All that a condition holds for, exchanged in one commit; `rows` have the target's columns in order."""
    return f"INSERT INTO {target.written} REPLACE WHERE {condition}\n{rows}"


def all_columns(target: Target, query: Query) -> list[str]:
    """The target's columns in order, all of which the query gives. Raises COLUMN_NOT_FOUND."""
    given = None if query.outputs is None else {name.lower() for name in query.outputs}
    missing = [name for name in target.columns if given is not None and name.lower() not in given]
    if missing:
        raise UsageError(
            "COLUMN_NOT_FOUND",
            f"the query does not give {', '.join(missing)}, which {target.name} has",
            "select all columns of the target",
        )
    return list(target.columns)
