"""The part of the target that is written whole: `utc_date = 20240115`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from calve.errors import UsageError
from calve.steps.patterns.rendering.names import quote
from calve.steps.patterns.rendering.pruning import Pruned
from calve.steps.patterns.rendering.query import Query, check_expression, split_equation
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.rendering.values import Value, read_value


@dataclass(frozen=True, slots=True)
class Current:
    """A column of the target, which the source has too, and its value; `value` None if Spark has to tell."""

    column: str
    text: str
    value: Value | None

    def condition(self) -> str:
        """That a row belongs to it."""
        return f"{quote(self.column)} = {self.text}"

    def outside(self) -> str:
        """That a row does not."""
        return f"NOT ({quote(self.column)} <=> {self.text})"

    def is_touched(self, pruned: Sequence[Pruned]) -> bool:
        """False only where the change surely has no row of it."""
        return not any(self.value not in found.on_source.values for found in self._told_apart(pruned))

    def others(self, pruned: Sequence[Pruned]) -> Sequence[Pruned] | None:
        """What is said of all other rows; None if there are none."""
        rest: list[Pruned] = []
        told = self._told_apart(pruned)
        for found in pruned:
            late = found.split([self.value])[1] if found in told else found
            if late.on_source.is_empty:
                return None
            rest.append(late)
        return rest

    def _told_apart(self, pruned: Sequence[Pruned]) -> list[Pruned]:
        """What lists the values of this very column."""
        return [
            found
            for found in pruned
            if self.value is not None
            and found.is_same
            and found.on_target.column == self.column
            and found.on_source.values
            and not found.on_source.spans
        ]


def read_current(text: str, request: Request, query: Query, keys: Sequence[str]) -> Current:
    """The part that a text names. Raises CURRENT_INVALID with the reason."""
    sides = split_equation(text)
    if sides is None:
        raise _invalid(text, "it is not 'column = literal'")
    name, right = sides
    check_expression(right, "the right side of current")
    tree = sqlglot.parse_one(right, read="spark")
    if list(
        tree.find_all(exp.Column, exp.Query, exp.Anonymous, exp.CurrentDate, exp.CurrentTimestamp, exp.Rand)
    ):
        raise _invalid(text, "the right side has to be the same whenever it is asked: a literal, or a param")
    own = request.target.column(name)
    if own is None or not request.target.is_partitioned_by(own, "identity"):
        raise _invalid(text, f"{request.target.name} is not partitioned by {name}")
    if own not in keys or not query.passes(own) or own not in request.source.columns:
        raise _invalid(text, f"{name} is not a key that the query takes from the source as it is")
    return Current(own, right, _value(tree, request.source.columns[own]))


def _value(tree: exp.Expr, kind: str) -> Value | None:
    if isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal):
        tree = tree.this
    if not isinstance(tree, exp.Literal):
        return None
    raw: object = tree.this
    if kind in ("int", "long"):
        raw = int(tree.this) if tree.this.isdigit() else None
    return read_value(kind, raw) if kind in ("int", "long", "string", "date") else None


def _invalid(text: str, reason: str) -> UsageError:
    return UsageError("CURRENT_INVALID", f"current is {text!r}: {reason}", "write it as 'utc_date = ${day}'")
