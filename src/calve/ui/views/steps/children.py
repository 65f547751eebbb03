"""The runs that a step is made of: the iterations of a loop, or the run of another workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from calve.engine.model.statuses import RunStatus
from calve.engine.views.documents import Json, load_map
from calve.engine.views.flatten import iterations_page
from calve.errors import UsageError
from calve.state.orchestration import runs
from calve.ui.addresses import run_address, step_address, with_query
from calve.ui.formats import elapsed
from calve.ui.views.runs.params import show_value
from calve.ui.views.steps.reading import StepRead

SIZE = 50
ALL, FAILED = "all", "failed"
_FILTERS: Mapping[str, tuple[str, ...]] = {
    FAILED: (RunStatus.FAILED.value, RunStatus.TIMED_OUT.value, RunStatus.STOPPED.value),
    "running": (RunStatus.CREATED.value, RunStatus.IN_PROGRESS.value),
    "succeeded": (RunStatus.SUCCEEDED.value,),
    ALL: (),
}
_LOOP_INDEX = "loop_index"


def read_iterations(connection: Connection, read: StepRead, show: str, cursor: str, now: int) -> Json | None:
    """A page of iterations, those that failed before all others; None for what is no loop."""
    if "steps" not in read.definition or read.attempt is None:
        return None
    counts = _count(load_map(read.attempt.handle))
    if show and show not in _FILTERS:
        raise UsageError("FILTER_UNKNOWN", f"found show={show[:40]}", f"use one of {', '.join(_FILTERS)}")
    show = show or (FAILED if counts.get(FAILED) else ALL)
    place = (read.run.workflow_id, read.run.instance_id, read.run.run_id)
    page = iterations_page(
        connection, place, read.step_id, limit=SIZE, cursor=cursor or None, statuses=_FILTERS[show]
    )
    here = step_address(read.run.workflow_id, read.run.instance_id, read.step_id)
    query = {"run": read.run.run_id, "attempt": read.attempt.attempt_id}
    info = page["page_info"]
    return {
        "show": show,
        "filters": [
            {
                "name": name,
                "count": counts.get(name),
                "href": with_query(here, **query, show=name),
                "is_shown": name == show,
            }
            for name in _FILTERS
        ],
        "iterations": [_iteration(one, now) for one in page["elements"]],
        "older": with_query(here, **query, show=show, cursor=info["end_cursor"])
        if info["has_next_page"]
        else None,
        "newer": with_query(here, **query, show=show) if cursor else None,
    }


def _count(handle: Json) -> dict[str, int]:
    """How many iterations stand where, as far as the loop itself keeps count."""
    ended: Mapping[str, int] | None = handle.get("ended")
    if ended is None:
        return {} if "number" not in handle else {ALL: handle["number"]}
    done = ended.get(RunStatus.SUCCEEDED.value, 0)
    return {
        FAILED: sum(ended.values()) - done,
        "running": handle.get("active", 0),
        "succeeded": done,
        ALL: handle["total"],
    }


def _iteration(one: Json, now: int) -> Json:
    place, state = one["leaf_step_instance_ref"], one["step_runtime_state"]
    started, ended = state.get("start_time"), state.get("end_time")
    values = {name: show_value(value) for name, value in one["loop_params"].items() if name != _LOOP_INDEX}
    return {
        "number": one["iteration_rank"],
        "values": values,
        "status": state["status"],
        "run_id": place["workflow_run_id"],
        "started_at": started,
        "took": elapsed(started, ended, now),
        "href": run_address(place["workflow_id"], place["workflow_instance_id"], place["workflow_run_id"]),
    }


def find_subworkflow(connection: Connection, read: StepRead, now: int) -> Json | None:
    """The run that a subworkflow step has started; None for any other step, and before it has."""
    if read.definition.get("kind") != "subworkflow" or read.attempt is None:
        return None
    key = load_map(read.attempt.handle).get("run")
    row = None if key is None else connection.execute(select(runs).where(runs.c.id == key)).first()
    return None if row is None else _subworkflow(row, now)


def _subworkflow(row: Row[Any], now: int) -> Json:
    return {
        "workflow_id": row.workflow_id,
        "instance_id": row.instance_id,
        "run_id": row.run_id,
        "status": row.status,
        "started_at": row.started_at,
        "took": elapsed(row.started_at, row.ended_at, now),
        "href": run_address(row.workflow_id, row.instance_id, row.run_id),
    }
