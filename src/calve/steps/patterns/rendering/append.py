"""IncrementalAppend: each row of the change becomes rows of the target."""

from __future__ import annotations

from dataclasses import dataclass

from calve.errors import RefusedError
from calve.steps.patterns.rendering import stands
from calve.steps.patterns.rendering.names import indent
from calve.steps.patterns.rendering.query import Query
from calve.steps.patterns.rendering.rendered import Rendered, Sql
from calve.steps.patterns.rendering.request import Request


@dataclass(frozen=True, slots=True)
class AppendPlan:
    """What is inserted, by the names or by the places of its columns."""

    query: str
    by_name: bool = True


def render(plan: AppendPlan, request: Request) -> Rendered:
    """INSERT INTO the target, over the change. Raises CHANGE_REMOVES_ROWS if rows went."""
    if not request.has_changes:
        return Rendered()
    source = request.source
    if source.changes.removed_metadata_location is not None and source.removed_table is not None:
        raise RefusedError(
            "CHANGE_REMOVES_ROWS",
            f"{source.changes.removed_records} rows of {source.changes.table} were in files that changed, "
            "and an append cannot take rows back",
            "use IncrementalMerge or IncrementalRange, or capture with data_operations: [append]",
        )
    reading = Query(plan.query, request.source.names).reading(stands.came(source))
    how = " BY NAME" if plan.by_name else ""
    text = f"INSERT INTO {request.target.written}{how}\nSELECT * FROM (\n{indent(reading)}\n) AS q"
    return Rendered((Sql(text, f"append the change of {source.changes.table}"),))
