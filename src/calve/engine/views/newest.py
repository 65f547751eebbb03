"""Lists from the newest to the oldest, that go on after a cursor.

A list is cut by its place in an index, so its last part costs as much as its first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, tuple_

from calve.engine.views.numbers import is_number
from calve.errors import UsageError

_SIGN = "-"


def read_newest(
    connection: Connection,
    query: Select[Any],
    key: Sequence[ColumnElement[int]],
    limit: int,
    most: int,
    cursor: str | None = None,
) -> tuple[Sequence[Row[Any]], str | None]:
    """The next rows of a query, and the cursor of those after them, which is None at the end.

    `key` are the columns that order the rows; an index must hold them in that order.
    """
    if not 1 <= limit <= most:
        raise UsageError("PAGE_INVALID", f"found a limit of {limit}", f"ask for 1 to {most}")
    if cursor:
        query = query.where(tuple_(*key) < tuple_(*_numbers(cursor, len(key))))
    rows = connection.execute(query.order_by(*(column.desc() for column in key)).limit(limit + 1)).all()
    page = rows[:limit]
    is_end = len(rows) <= limit
    return page, None if is_end else _SIGN.join(str(page[-1]._mapping[column]) for column in key)


def _numbers(cursor: str, count: int) -> list[int]:
    parts = cursor.split(_SIGN)
    if len(parts) != count or not all(is_number(part) for part in parts):
        raise UsageError(
            "PAGE_INVALID", f"found the cursor '{cursor[:40]}'", "use next_cursor of the list before"
        )
    return [int(part) for part in parts]
