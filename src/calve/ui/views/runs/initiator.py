"""Who or what started a run, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from calve.engine.views.documents import Json, load_map
from calve.state.orchestration import runs
from calve.ui.addresses import backfill_address, run_address, step_address, table_address, with_query

_RESTARTS = {
    "RESTART_FROM_INCOMPLETE": "restarted with what was incomplete",
    "RESTART_FROM_BEGINNING": "restarted from the beginning",
    "RESTART_FROM_SPECIFIC": "restarted from one step on",
}


def read_parents(connection: Connection, found: Iterable[Row[Any]]) -> dict[int, Row[Any]]:
    """The runs around some runs, by their keys."""
    keys = {row.parent_run for row in found if row.parent_run is not None}
    if not keys:
        return {}
    columns = (runs.c.id, runs.c.workflow_id, runs.c.instance_id, runs.c.run_id, runs.c.parent_run)
    query: Select[Any] = select(*columns, runs.c.parent_step, runs.c.inline).where(runs.c.id.in_(keys))
    return {row.id: row for row in connection.execute(query)}


def describe_start(run: Row[Any], parents: Mapping[int, Row[Any]]) -> Json:
    """What started a run: `words`, perhaps with a link, a moment, and the tables or signals behind it."""
    initiator = load_map(run.initiator)
    described: Json = {"type": initiator.get("type"), "href": None, "parent": None, "at": None, "behind": []}
    parent = parents.get(run.parent_run) if run.parent_run is not None else None
    described |= _nested(run, parent) if parent is not None else _first(initiator)
    if run.run_id > 1:
        described["restart"] = _RESTARTS.get(load_map(run.request).get("policy", ""), "restarted")
    else:
        described["restart"] = None
    return described


def _nested(run: Row[Any], parent: Row[Any]) -> Json:
    what = f"iteration {run.instance_id} of" if run.inline else "subworkflow step"
    around = "a loop" if parent.inline else parent.workflow_id
    return {
        "words": f"{what} {run.parent_step} in {around} #{parent.instance_id}",
        "href": step_address(parent.workflow_id, parent.instance_id, run.parent_step, parent.run_id),
        "parent": run_address(parent.workflow_id, parent.instance_id, parent.run_id),
    }


def _first(initiator: Mapping[str, Any]) -> Json:
    caller = initiator.get("caller") or ""
    match initiator.get("type"):
        case "TIME":
            return {"words": "its schedule", "at": initiator.get("trigger_time")}
        case "SIGNAL":
            used = initiator.get("signal_id_map") or {}
            return {"words": "signals", "behind": [_signal(name, number) for name, number in used.items()]}
        case "INCREMENTAL":
            tables = initiator.get("tables") or {}
            return {"words": "changes of tables", "behind": [_table(name) for name in tables]}
        case "BACKFILL":
            return _backfill(initiator.get("backfill") or {})
        case "MANUAL":
            return {"words": f"{caller}, by hand" if caller else "somebody, by hand"}
        case kind:
            return {"words": str(kind or "unknown").lower()}


def _signal(name: str, number: int) -> Json:
    return {"text": f"{name} ({number})", "href": with_query("/signals", name=name)}


def _table(name: str) -> Json:
    return {"text": name, "href": table_address(name)}


def _backfill(scope: Mapping[str, Any]) -> Json:
    number = scope.get("backfill_id")
    words = f"backfill {number}, stage {scope.get('stage')}, chunk {scope.get('chunk')}"
    again = scope.get("round") or 1
    return {
        "words": words if again == 1 else f"{words}, round {again}",
        "href": None if number is None else backfill_address(number),
    }


def find_way(connection: Connection, run: Row[Any]) -> list[Json]:
    """The runs around a run, the outermost first: what stands before its name."""
    way: list[Json] = []
    inner: Row[Any] = run
    while parent := read_parents(connection, [inner]).get(inner.parent_run):
        way.append(
            {
                "workflow_id": parent.workflow_id,
                "instance_id": parent.instance_id,
                "run_id": parent.run_id,
                "step_id": inner.parent_step,
                "iteration": inner.instance_id if inner.inline else None,
                "inline": parent.inline,
                "href": run_address(parent.workflow_id, parent.instance_id, parent.run_id),
                "step_href": step_address(
                    parent.workflow_id, parent.instance_id, inner.parent_step, parent.run_id
                ),
            }
        )
        inner = parent
    return way[::-1]
