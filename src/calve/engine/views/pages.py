"""Pages of a list that is ordered by a number, the newest first.

`first` goes on to older entries and `last` back to newer ones, both from `cursor`, which is not on the page.
A page is found by its place in an index, so the last page costs as much as the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select

from calve.engine.views.documents import Json
from calve.engine.views.numbers import is_number
from calve.errors import UsageError

PAGE_LIMIT = 200


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted; exactly one of `first` and `last` is set."""

    first: int | None = None
    last: int | None = None
    cursor: int | None = None

    @classmethod
    def parse(cls, first: int | None, last: int | None, cursor: str | None) -> PageRequest:
        """A request as it comes in, checked."""
        if (first is None) == (last is None):
            raise _invalid(f"found first={first} and last={last}", "give exactly one of first and last")
        size = last if first is None else first
        if size is None or not 1 <= size <= PAGE_LIMIT:
            raise _invalid(f"a page of {size} entries", f"ask for 1 to {PAGE_LIMIT}")
        if cursor and not is_number(cursor):
            raise _invalid(
                f"the cursor {cursor!r} is not a number", "use start_cursor or end_cursor of a page"
            )
        return cls(first, last, int(cursor) if cursor else None)

    @property
    def is_onward(self) -> bool:
        """True from newer to older entries."""
        return self.first is not None

    @property
    def size(self) -> int:
        """How many entries at most."""
        return self.first or self.last or 0

    def bound(self, key: ColumnElement[int]) -> list[ColumnElement[bool]]:
        """The conditions that the entries of the page meet."""
        if self.cursor is None:
            return []
        return [key < self.cursor if self.is_onward else key > self.cursor]


def read_page(
    connection: Connection,
    query: Select[Any],
    key: ColumnElement[int],
    request: PageRequest,
    show: Callable[[Sequence[Row[Any]]], list[Json]],
) -> Json:
    """The page of the rows of `query`, with Maestro's page_info; `key` numbers them."""
    # Each end by itself is the first entry of an index; asked for together, all entries would be read.
    earliest = connection.execute(query.with_only_columns(key).order_by(key.asc()).limit(1)).scalar()
    latest = connection.execute(query.with_only_columns(key).order_by(key.desc()).limit(1)).scalar()
    if earliest is None or latest is None:
        return _page([], None, 0)
    wanted = query.where(*request.bound(key)).limit(request.size)
    rows = list(connection.execute(wanted.order_by(key.desc() if request.is_onward else key.asc())))
    if not request.is_onward:
        rows.reverse()
    if not rows:
        return _page([], None, latest - earliest + 1)
    newest, oldest = _key_of(rows[0], key), _key_of(rows[-1], key)
    info = {
        "start_cursor": str(newest),
        "end_cursor": str(oldest),
        "has_previous_page": newest < latest,
        "has_next_page": oldest > earliest,
        "start_index": latest + 1 - newest,
    }
    return _page(show(rows), info, latest - earliest + 1)


def _key_of(row: Row[Any], key: ColumnElement[int]) -> int:
    return int(row._mapping[key])


def _page(elements: list[Json], info: Json | None, total: int) -> Json:
    empty = {
        "start_cursor": None,
        "end_cursor": None,
        "has_previous_page": False,
        "has_next_page": False,
        "start_index": None,
    }
    return {"page_info": info or empty, "total_count": total, "elements": elements}


def _invalid(found: str, remedy: str) -> UsageError:
    return UsageError("PAGE_INVALID", f"that is no page: {found}", remedy)
