"""What stands for the source in a query: the rows that came, those that went, or its whole state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calve.steps.patterns.rendering.filters import ColumnFilter
from calve.steps.patterns.rendering.request import Source


def came(source: Source, conditions: Sequence[str] = ()) -> str:
    """The rows that came, as far as they can be told from those that were only carried along."""
    return _selected(source.change_table, [*_lineage(source), *conditions])


def touched(source: Source, conditions: Sequence[str] = ()) -> str:
    """The rows that came, and those that were carried along with them."""
    return _selected(source.change_table, conditions)


def went(source: Source, conditions: Sequence[str] = ()) -> str | None:
    """The rows that went, as far as they can be told; None if none did."""
    removed = source.removed_table
    if removed is None:
        return None
    lineage = source.changes.row_filter
    if lineage is None:
        return _selected(removed, conditions)
    carried = f"SELECT _row_id AS id FROM {source.change_table} WHERE NOT ({lineage})"
    joined = f"{removed} AS gone LEFT ANTI JOIN ({carried}) AS carried ON gone._row_id = carried.id"
    return f"(SELECT gone.* FROM {joined}{_where(conditions)})"


def state(source: Source, conditions: Sequence[str] = (), semi_join: str = "", hint: str = "") -> str:
    """The whole source at the end of the capture; `semi_join` narrows the rows of `src`."""
    if not conditions and not semi_join:
        return source.state
    return f"(SELECT {hint}src.* FROM {source.state} AS src{semi_join}{_where(conditions)})"


def conditions_of(filters: Iterable[ColumnFilter], table: str | None = None) -> list[str]:
    """Filters as conditions."""
    return [found.sql(table) for found in filters]


def _lineage(source: Source) -> list[str]:
    found = source.changes.row_filter
    return [] if found is None else [f"({found})"]


def _selected(table: str, conditions: Sequence[str]) -> str:
    return f"(SELECT * FROM {table}{_where(conditions)})" if conditions else table


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""
