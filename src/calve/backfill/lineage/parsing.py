"""Statements as trees, with the views of their script put in the place of their names."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from calve.backfill.lineage.stand_ins import as_numbers

_DIALECT = "spark"
_GLOBAL = "global_temp"
#: Views of views grow by themselves; no script that a person wrote comes near it.
TABLES_LIMIT = 200

# It would tell the log of every statement that it passes over.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def parse_statement(text: str) -> exp.Expr | None:
    """The tree of a statement; None if it is not understood."""
    for version in dict.fromkeys((text, as_numbers(text))):
        try:
            return sqlglot.parse_one(version, dialect=_DIALECT)
        except Exception:  # noqa: BLE001  whatever the parser makes of it: Spark decides what is SQL
            continue
    return None


def to_sql(tree: exp.Expr) -> str:
    """A tree as a text."""
    return tree.sql(dialect=_DIALECT)


def inserts_of(tree: exp.MultitableInserts) -> Iterator[exp.Expr]:
    """`FROM s INSERT INTO a … INSERT INTO b …` as statements with one target each."""
    for insert in tree.expressions:
        single = insert.copy()
        if isinstance(single.expression, exp.Select) and tree.args.get("source") is not None:
            single.expression.set("from_", exp.From(this=tree.args["source"].copy()))
        if tree.args.get("with_") is not None:
            single.set("with_", tree.args["with_"].copy())
        yield single


def query_of(tree: exp.Expr) -> exp.Expr | None:
    """The query whose rows a statement writes, with the CTEs that stand before the statement."""
    query = tree.args.get("source") or tree.args.get("expression")
    if isinstance(query, exp.Table):
        query = exp.select("*").from_(query.copy())
    inner = query.unnest() if isinstance(query, exp.Subquery) else query
    return with_ctes(inner.copy(), tree) if isinstance(inner, exp.Query) else None


def with_ctes(query: exp.Query, statement: exp.Expr) -> exp.Query:
    """The query with the CTEs of the statement around it."""
    outer, own = statement.args.get("with_"), query.args.get("with_")
    if outer is not None and statement is not query:
        listed = [*outer.copy().expressions, *(own.expressions if own is not None else ())]
        query.set("with_", exp.With(expressions=listed, recursive=outer.args.get("recursive")))
    return query


def tables_in(tree: exp.Expr) -> Iterator[exp.Table]:
    """The tables of a tree, targets among them; names of CTEs are none."""
    named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if not (len(table.parts) == 1 and table.name.lower() in named):
            yield table


@dataclass(slots=True)
class Views:
    """The views that a script has made so far."""

    _known: dict[str, exp.Subquery] = field(default_factory=dict)

    def add(self, tree: exp.Expr) -> bool:
        """Take note of `CREATE VIEW` or `CACHE TABLE … AS`; False if the statement is neither."""
        is_view = isinstance(tree, exp.Create) and tree.kind == "VIEW"
        if not is_view and not isinstance(tree, exp.Cache):
            return False
        query = tree.expression
        named = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        if isinstance(query, exp.Query) and isinstance(named, exp.Table):
            columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
            alias = exp.TableAlias(columns=[exp.to_identifier(column.name) for column in columns])
            whole = with_ctes(query.copy(), tree)
            self._known[_key(named)] = exp.Subquery(this=self.put_in(whole), alias=alias)
        return True

    def put_in(self, tree: exp.Expr) -> exp.Expr:
        """The tree with each view's query in the place of its name; the views of others stay as they are."""
        if not self._known:
            return tree
        made = tree.copy()
        budget = TABLES_LIMIT
        for table in list(tables_in(made)):
            view = self._known.get(_key(table))
            size = 0 if view is None else sum(1 for _ in view.find_all(exp.Table))
            if view is not None and size <= budget:
                budget -= size
                table.replace(_standing_for(table, view))
        return made


def _standing_for(table: exp.Table, view: exp.Subquery) -> exp.Subquery:
    subquery = view.copy()
    columns: list[exp.Expr] = list(subquery.args["alias"].args.get("columns") or ())
    own = table.args.get("alias")
    if own is not None and own.args.get("columns"):
        columns = list(own.args["columns"])
    subquery.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias_or_name), columns=columns))
    for kept in ("joins", "laterals", "pivots"):
        subquery.set(kept, table.args.get(kept))
    return subquery


def _key(table: exp.Table) -> str:
    parts = [part.name.lower() for part in table.parts]
    return ".".join(parts[1:] if parts[0] == _GLOBAL else parts)


def columns_stated(tree: exp.Expr) -> tuple[exp.Table, tuple[str, ...]] | None:
    """The table and the columns of `CREATE TABLE t (a INT, …)`; None for any other statement."""
    if not isinstance(tree, exp.Create) or tree.kind != "TABLE" or not isinstance(tree.this, exp.Schema):
        return None
    columns = tuple(item.name for item in tree.this.expressions if isinstance(item, exp.ColumnDef))
    table = tree.this.this
    return (table, columns) if columns and isinstance(table, exp.Table) else None
