"""SQL that means a table, turned to a branch of it; the rest of the text stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from calve.errors import UsageError
from calve.lake.catalogs import split_name
from calve.steps.patterns.rendering.names import quote
from calve.steps.patterns.rendering.query import is_named, parts_of


def on_branch(sql: str, names: Sequence[str], written: str, what: str) -> str:
    """The statement with `written` wherever the table stands. Raises QUERY_INVALID, or TARGET_NOT_NAMED."""
    found = exchange_table(sql, names, written, what)
    if found is None:
        raise UsageError(
            "TARGET_NOT_NAMED",
            f"{what} does not name {names[0]}",
            f"write {names[0]} where the target is meant",
        )
    return found


def exchange_table(sql: str, names: Sequence[str], written: str, what: str) -> str | None:
    """The statement with `written` wherever the table of these names stands; None if it stands nowhere.

    Raises QUERY_INVALID.
    """
    try:
        tree = sqlglot.parse_one(sql, read="spark")
    except SqlglotError as error:
        raise UsageError(
            "QUERY_INVALID", f"{what} is not SQL: {str(error).splitlines()[0]}", f"correct {what}"
        ) from error
    wanted = [tuple(part.lower() for part in split_name(name)) for name in names]
    tables = [table for table in tree.find_all(exp.Table) if is_named(parts_of(table), wanted)]
    for table in sorted(tables, key=lambda table: -int(table.parts[0].meta["start"])):
        sql = _exchanged(sql, table, written)
    return sql if tables else None


def _exchanged(sql: str, table: exp.Table, written: str) -> str:
    parts = table.parts
    start, end = parts[0].meta["start"], parts[-1].meta["end"]
    named = table.alias or isinstance(table.parent, exp.Insert | exp.Schema)
    alias = "" if named else f" AS {quote(parts[-1].name)}"
    return sql[:start] + written + alias + sql[end + 1 :]
