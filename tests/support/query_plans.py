"""How SQLite finds what statements ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event


@contextmanager
def recorded() -> Iterator[list[tuple[str, Any]]]:
    """The statements that are run in the meantime."""
    found: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        found.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def plan_lines(connection: Connection, view: Callable[[Connection], Any]) -> list[str]:
    """The lines of the plans of all that a view asks for."""
    with recorded() as statements:
        view(connection)
    return [
        str(row[3])
        for statement, parameters in statements
        if statement.startswith("SELECT")
        for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
    ]
