"""Counts that stay cheap however much there is."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, func, literal, select

#: What a count goes up to: past it, "so many and more" is all that anybody wants to know.
COUNT_LIMIT = 10_000


def count_some(connection: Connection, query: Select[Any], at_most: int = COUNT_LIMIT) -> int:
    """How many rows a query finds; `at_most` stands for so many and more."""
    some = query.with_only_columns(literal(1)).limit(at_most).subquery()
    return connection.execute(select(func.count()).select_from(some)).scalar_one()
