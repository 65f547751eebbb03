"""The newest snapshots of a table, and who made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, select

from calve.lake.amounts import count
from calve.lake.lag import summary_operation
from calve.lake.metadata import Snapshot
from calve.server.dependencies import Json
from calve.spark.once.scope import STATEMENT_PROPERTY, read_marker
from calve.state.schema import captures
from calve.ui.views.captures.runs import run_of

#: What writers call themselves in a snapshot's summary.
_ENGINES = ("engine-name", "calve.writer", "written-by")


def show_snapshots(connection: Connection, newest_first: Sequence[Snapshot]) -> list[Json]:
    """Each snapshot with what it did, and the statement and run of Calve that made it, if one did."""
    marked = {snapshot.id: _captures_of(snapshot) for snapshot in newest_first}
    runs = _runs_of(connection, {capture for found in marked.values() for capture, _ in found})
    return [_show(snapshot, marked[snapshot.id], runs) for snapshot in newest_first]


def _captures_of(snapshot: Snapshot) -> list[tuple[str, str]]:
    return sorted(read_marker(snapshot.summary[STATEMENT_PROPERTY])) if _is_marked(snapshot) else []


def _is_marked(snapshot: Snapshot) -> bool:
    return bool(snapshot.summary.get(STATEMENT_PROPERTY))


def _runs_of(connection: Connection, ids: Iterable[str]) -> dict[str, str | None]:
    query = select(captures.c.id, captures.c.run_ref).where(captures.c.id.in_(sorted(ids)))
    return {row.id: row.run_ref for row in connection.execute(query)}


def _show(snapshot: Snapshot, statements: Sequence[tuple[str, str]], runs: Mapping[str, str | None]) -> Json:
    return {
        "id": snapshot.id,
        "at": snapshot.timestamp_ms,
        "operation": summary_operation(snapshot).value,
        "added_rows": count(snapshot, "added-records"),
        "removed_rows": count(snapshot, "deleted-records"),
        "added_files": count(snapshot, "added-data-files"),
        "removed_files": count(snapshot, "deleted-data-files"),
        "engine": next((snapshot.summary[key] for key in _ENGINES if key in snapshot.summary), None),
        "statements": [
            # A capture of another state is named, and has no page here.
            {
                "capture_id": capture,
                "statement": name,
                "is_known": capture in runs,
                "run": run_of(runs.get(capture)),
            }
            for capture, name in statements
        ],
    }
