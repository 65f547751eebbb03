"""The steps of a run: as a table, and as a graph."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Row

from calve.engine.model.statuses import FAILED, StepStatus
from calve.engine.views.documents import Json, load, load_map
from calve.ui.addresses import step_address
from calve.ui.drawing.graph import Edge, Picture, draw_graph
from calve.ui.formats import duration, elapsed
from calve.ui.views.conditions import add_conditions, find_conditions
from calve.ui.views.runs.reading import RunRead

#: Of a message, so much is shown beside others.
_MESSAGE = 240
#: As long as nearly all notes of boxes.
_ROOM = "succeeded · 12 min 03 s"
_FAILED_SHOWN = 10


def describe_steps(read: RunRead) -> list[Json]:
    """Every step: where its newest attempt stands, how long it took, what went wrong."""
    return [_describe(read, step_id) for step_id in read.step_ids]


def _describe(read: RunRead, step_id: str) -> Json:
    run, newest = read.run, read.newest(step_id)
    definition = read.definitions.get(step_id, {})
    kind = str(definition.get("kind", "step"))
    step: Json = {
        "id": step_id,
        "href": step_address(run.workflow_id, run.instance_id, step_id, run.run_id),
        "status": read.status(step_id),
        "type": definition.get("type", "") if kind == "step" else kind,
        "attempts": len(read.attempts.get(step_id, ())),
        "carried": False,
        "started_at": None,
        "took": None,
        "progress": None,
        "error": None,
    }
    if newest is None:
        return step
    return {
        **step,
        "carried": newest.carried,
        "started_at": newest.started_at or newest.created_at,
        "took": elapsed(newest.started_at, newest.ended_at, read.now),
        "progress": describe_progress(newest),
        "error": shorten_error(newest.error),
    }


def describe_progress(row: Row[Any]) -> Json | None:
    """How far an attempt is: a text, and a part of 1 where that is known. None once it is over."""
    if row.ended_at is not None:
        return None
    progress = load_map(row.progress)
    fraction = progress.get("fraction")
    if fraction is None and not progress.get("message"):
        return None
    known = isinstance(fraction, int | float)
    return {
        "message": str(progress.get("message") or ""),
        "fraction": fraction if known else None,
        "percent": f"{fraction:.0%}" if known else "",
    }


def shorten_error(text: str | None) -> Json | None:
    """What went wrong, short enough to stand beside others."""
    error = load(text)
    if not error:
        return None
    message = str(error.get("message") or "") if isinstance(error, dict) else str(error)
    code = str(error.get("code") or "") if isinstance(error, dict) else ""
    # What a program says last is mostly why it gave up.
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = " … ".join(lines if len(lines) < 2 else [lines[0][: _MESSAGE // 2], lines[-1]])
    return {"code": code, "message": text if len(text) <= _MESSAGE else text[: _MESSAGE - 1] + "…"}


def find_failed(described: list[Json]) -> list[Json]:
    """The first steps that failed for good: what somebody looks for first."""
    bad = [step for step in described if step["status"] in FAILED]
    return bad[:_FAILED_SHOWN]


def draw_steps(read: RunRead, described: list[Json]) -> Json:
    """The graph of the steps, and what is to be said of each."""
    conditions = find_conditions(read.definitions.items())
    notes = {step["id"]: _note(read, step) for step in described}
    picture = add_conditions(_picture(read.step_ids, tuple(conditions)).to_json(), conditions)
    facts = {
        step["id"]: {"href": step["href"], "status": step["status"], "note": notes[step["id"]]}
        for step in described
    }
    return {"picture": picture, "facts": facts}


@lru_cache(maxsize=64)
def _picture(step_ids: tuple[str, ...], edges: tuple[Edge, ...]) -> Picture:
    """With room for any note, so that nothing moves while a run goes on, and the picture is made once."""
    return draw_graph({step_id: step_id for step_id in step_ids}, edges, dict.fromkeys(step_ids, _ROOM))


def _note(read: RunRead, step: Json) -> str:
    """A few words for a box: what is counted, else how long it took, else where it stands."""
    newest = read.newest(step["id"])
    if newest is None:
        return "not begun"
    counted = _iterations(newest) or (step["progress"] or {}).get("percent", "")
    status = StepStatus(newest.status)
    words = [status.value.replace("_", " ").lower()]
    if newest.carried:
        words.append("earlier")
    elif counted:
        words.append(counted)
    elif step["took"] is not None:
        words.append(duration(step["took"]))
    return " · ".join(words)


def _iterations(row: Row[Any]) -> str:
    handle = load_map(row.handle)
    if not {"total", "ended"} <= handle.keys():
        return ""
    return f"{sum(handle['ended'].values())} of {handle['total']}"
