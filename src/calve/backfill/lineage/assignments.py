"""Which column of the target gets which expression: of INSERT, CREATE … AS, MERGE and UPDATE."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from calve.backfill.lineage.columns import Origin, Tracer
from calve.backfill.lineage.parsing import query_of, with_ctes

#: A column of the target, and what it is made from.
Assigned = tuple[str, Iterable[Origin]]


def assignments(tree: exp.Expr, tracer: Tracer, target_columns: Sequence[str] | None) -> list[Assigned]:
    """The columns of the target that the SQL shows; `target_columns` are all of them in order, if known."""
    match tree:
        case exp.Insert():
            return _inserted(tree, tracer, target_columns)
        case exp.Create():
            query = query_of(tree)
            return [] if query is None else by_name(query, tracer)
        case exp.Merge():
            return _merged(tree, tracer)
        case exp.Update():
            return _computed(_set_by(tree), tree, tracer, [tree.this])
    return []


def by_name(query: exp.Expr, tracer: Tracer) -> list[Assigned]:
    """The columns of a query, each for the column of its name."""
    return list(tracer.outputs(query) or tracer.partial(query))


def _inserted(tree: exp.Insert, tracer: Tracer, target_columns: Sequence[str] | None) -> list[Assigned]:
    query = query_of(tree)
    if query is None:
        return []
    if tree.args.get("by_name"):
        return by_name(query, tracer)
    names = _positions(tree, target_columns)
    outputs = tracer.outputs(query)
    if names is None or outputs is None:
        return []
    return [(name, origins) for name, (_, origins) in zip(names, outputs, strict=False)]


def _positions(tree: exp.Insert, target_columns: Sequence[str] | None) -> Sequence[str] | None:
    """The columns of the target in the order in which an INSERT gives them."""
    if isinstance(tree.this, exp.Schema):
        return [column.name for column in tree.this.expressions]
    if target_columns is None:
        return None
    partition = tree.this.args.get("partition")
    stated = [] if partition is None else partition.expressions
    fixed = [item.this.name.lower() for item in stated if isinstance(item, exp.EQ)]
    moved = [item.name for item in stated if not isinstance(item, exp.EQ)]
    apart = {*fixed, *(name.lower() for name in moved)}
    return [*(name for name in target_columns if name.lower() not in apart), *moved]


def _set_by(update: exp.Expr) -> list[tuple[str, exp.Expr]]:
    equations = [item for item in update.expressions if isinstance(item, exp.EQ)]
    return [(item.this.name, item.expression) for item in equations if isinstance(item.this, exp.Column)]


def _merged(tree: exp.Merge, tracer: Tracer) -> list[Assigned]:
    pairs: list[tuple[str, exp.Expr]] = []
    by_star = False
    whens = tree.args.get("whens")
    for when in () if whens is None else whens.expressions:
        then = when.args.get("then")
        if isinstance(then, exp.Update):
            pairs += _set_by(then)
            by_star |= any(isinstance(item, exp.Star) for item in then.expressions)
        elif isinstance(then, exp.Insert):
            by_star |= isinstance(then.this, exp.Star)
            pairs += _listed(then)
    using = tree.args["using"]
    found = _computed(pairs, tree, tracer, [tree.this, using])
    if by_star:
        found += by_name(with_ctes(exp.select("*").from_(using.copy()), tree), tracer)
    return found


def _listed(insert: exp.Insert) -> list[tuple[str, exp.Expr]]:
    """`INSERT (a, b) VALUES (x, y)` as pairs."""
    if not isinstance(insert.this, exp.Tuple) or not isinstance(insert.expression, exp.Tuple):
        return []
    columns = [column.name for column in insert.this.expressions]
    return list(zip(columns, insert.expression.expressions, strict=False))


def _computed(
    pairs: Sequence[tuple[str, exp.Expr]], tree: exp.Expr, tracer: Tracer, sources: Sequence[exp.Expr]
) -> list[Assigned]:
    """Expressions over the tables of a statement, traced as those of a SELECT over these tables."""
    if not pairs:
        return []
    aliased = [exp.alias_(value.copy(), f"calveout{n}") for n, (_, value) in enumerate(pairs)]
    select = exp.select(*aliased).from_(sources[0].copy())
    for source in sources[1:]:
        select = select.join(source.copy(), join_type="cross")
    outputs = tracer.outputs(with_ctes(select, tree)) or []
    return [(name, origins) for (name, _), (_, origins) in zip(pairs, outputs, strict=False)]
