"""A run along the time: for each step, when it waited, when it was queued, and when it ran."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from sqlalchemy import Row

from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.views.documents import Json
from calve.ui.drawing.gantt import Stretch, Track, draw_gantt
from calve.ui.views.runs.reading import RunRead, Way

WAITING, QUEUED, RUNNING = "waiting", "queued", "running"
#: The name of the row that stands for the run as a whole.
WHOLE = ""
_KINDS = {
    StepStatus.WAITING_FOR_SIGNALS: QUEUED,
    StepStatus.WAITING_FOR_PERMITS: QUEUED,
    StepStatus.STARTING: RUNNING,
    StepStatus.RUNNING: RUNNING,
    StepStatus.FINISHING: RUNNING,
}


def draw_timeline(read: RunRead) -> Json | None:
    """The picture; None while nothing has begun."""
    if read.run.started_at is None:
        return None
    end = read.run.ended_at or read.now
    begin = _begin(read, end)
    first = {step: rows[0].created_at for step, rows in read.attempts.items()}
    order = sorted(read.step_ids, key=lambda step: first.get(step, end + 1))
    tracks = [Track(WHOLE, _whole(read.run)), *(Track(step, _stretches(read, step)) for step in order)]
    return draw_gantt(tracks, begin, end).to_json()


def _begin(read: RunRead, end: int) -> int:
    """From the queue on, unless the run waited there for so long that nothing else could be seen."""
    created, started = int(read.run.created_at), int(read.run.started_at)
    return created if started - created <= end - started else started


def _whole(run: Row[Any]) -> tuple[Stretch, ...]:
    queued = Stretch(QUEUED, run.created_at, run.started_at, RunStatus.CREATED.value)
    return queued, Stretch(RUNNING, run.started_at, run.ended_at, run.status)


def _stretches(read: RunRead, step_id: str) -> tuple[Stretch, ...]:
    found: list[Stretch] = []
    for row in read.attempts.get(step_id, ()):
        # What an earlier run has done happened at another time.
        if not row.carried:
            found += attempt_stretches(row, read.ways.get((step_id, row.attempt_id), []))
    return tuple(found)


def attempt_stretches(row: Row[Any], way: Way) -> list[Stretch]:
    """How an attempt spent its time; what follows itself is one stretch, and what took no time is none."""
    merged: list[Stretch] = []
    pieces = list(_pieces(row, way))
    for kind, begin, end in [piece for piece in pieces if piece[1] != piece[2]] or pieces[-1:]:
        since = merged.pop().begin if merged and merged[-1].kind == kind else begin
        merged.append(Stretch(kind, since, end, row.status, row.attempt_id))
    return merged


def _pieces(row: Row[Any], way: Way) -> Iterator[tuple[str, int, int | None]]:
    if not way:
        # Without events there are still the moments of the row itself.
        yield WAITING, row.created_at, row.started_at or row.ended_at
        if row.started_at is not None:
            yield RUNNING, row.started_at, row.ended_at
    for (status, begin), (_, end) in pairwise(way):
        yield _KINDS.get(StepStatus(status), WAITING), begin, end
    if way and not StepStatus(way[-1][0]).is_terminal:
        yield _KINDS.get(StepStatus(way[-1][0]), WAITING), way[-1][1], row.ended_at
    if row.wake_at is not None and StepStatus(row.status).is_retryable and row.ended_at is not None:
        yield WAITING, row.ended_at, row.wake_at
