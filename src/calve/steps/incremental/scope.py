"""Under which captures a step runs: those of its own run and of the runs around it.

A step is under a capture from the moment that the capture step has taken it, until it is committed. What a
capture step has taken stands with its row in the run, also in a restarted run that did not run it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from calve.errors import RefusedError
from calve.ledger.records import CaptureRecord, Status
from calve.ledger.transact import require_capture
from calve.ledger.writes import Write, writes_of
from calve.spark.once.scope import Scope
from calve.state.orchestration import runs, steps
from calve.steps.contract import StepContext
from calve.steps.incremental.naming import run_ref_of

#: What a capture step keeps: its capture, and the name that it gave to the ICDC table, if it did.
ARTIFACT = "capture"
ICDC_NAME = "icdc_name"
_ID = "capture_id"


@dataclass(frozen=True, slots=True)
class Frame:
    """A run that a step is in, and the way from there to the step."""

    run: Any
    path: str
    #: True if nothing between this run and the step was ever tried before.
    is_first: bool


@dataclass(frozen=True, slots=True)
class HeldCapture:
    """A capture that a step runs under."""

    step_id: str
    record: CaptureRecord
    path: str
    #: What the capture step told about it.
    told: Mapping[str, Any]
    #: What statements of this step are known to have written under it.
    writes: tuple[Write, ...]
    #: True if no earlier attempt of this step can have run under it.
    is_new: bool


@dataclass(frozen=True, slots=True)
class StepCaptures:
    """All captures that a step runs under; at least one."""

    held: tuple[HeldCapture, ...]

    @property
    def scope(self) -> Scope:
        """What the step's statements are called under them."""
        return Scope(tuple((x.record.id, x.path) for x in self.held))

    @property
    def told(self) -> dict[str, Mapping[str, Any]]:
        """What the captures tell, by the step that took them."""
        return {x.step_id: x.told for x in self.held}

    @property
    def is_new(self) -> bool:
        """True if it is certain that no attempt of this step has begun under any of them."""
        return all(x.is_new for x in self.held)


def captures_of_step(connection: Connection, context: StepContext) -> StepCaptures | None:
    """The captures that a step runs under; None if there are none.

    Raises CAPTURE_RELEASED or CAPTURE_TAKEN_OVER if it would run under one that its run has no more.
    """
    held: list[HeldCapture] = []
    for frame in frames_of(connection, context):
        for step_id, told in taken_in(connection, frame.run.id).items():
            found = _held(connection, frame, step_id, told)
            if found is not None:
                held.append(found)
    return StepCaptures(tuple(held)) if held else None


def frames_of(connection: Connection, context: StepContext) -> list[Frame]:
    """The runs that a step is in, its own first."""
    frames: list[Frame] = []
    path, is_first = context.step_id, context.attempt_id == 1
    key: int | None = context.run
    while key is not None:
        run = connection.execute(select(runs).where(runs.c.id == key)).first()
        if run is None:
            break
        is_first = is_first and run.run_id == 1
        frames.append(Frame(run, path, is_first))
        # Iterations have numbers; an instance of a subworkflow has another one each time it is tried.
        path = f"{run.instance_id}/{path}" if run.inline else path
        path = f"{run.parent_step}/{path}"
        key = run.parent_run
        is_first = is_first and key is not None and _attempts(connection, key, run.parent_step) <= 1
    return frames


def _attempts(connection: Connection, run: int, step_id: str) -> int:
    newest = select(func.max(steps.c.attempt_id)).where(steps.c.run == run, steps.c.step_id == step_id)
    return connection.execute(newest).scalar() or 0


def taken_in(connection: Connection, run: int) -> dict[str, Mapping[str, Any]]:
    """What the capture steps of a run tell about their captures, by step; the newest attempt counts."""
    rows = connection.execute(
        select(steps.c.step_id, steps.c.artifacts)
        .where(steps.c.run == run, steps.c.artifacts.contains(f'"{_ID}"'))
        .order_by(steps.c.attempt_id)
    )
    told = {row.step_id: json.loads(row.artifacts).get(ARTIFACT) for row in rows}
    return {step_id: found for step_id, found in told.items() if isinstance(found, Mapping) and _ID in found}


def record_of(connection: Connection, frame: Frame, step_id: str, told: Mapping[str, Any]) -> CaptureRecord:
    """The capture that a step took in a run. Raises CAPTURE_TAKEN_OVER if it is another run's now."""
    record = require_capture(connection, told[_ID])
    if record.run_ref != run_ref_of(frame.run.workflow_id, frame.run.instance_id, step_id):
        raise _taken_over(record)
    return record


def _held(connection: Connection, frame: Frame, step_id: str, told: Mapping[str, Any]) -> HeldCapture | None:
    record = record_of(connection, frame, step_id, told)
    writes = tuple(x for x in writes_of(connection, record.id) if x.statement.startswith(f"{frame.path}/"))
    if record.status in (Status.RELEASED, Status.FAILED):
        if record.is_idle:
            return None
        raise _released(record)
    if record.status is Status.COMMITTED and not writes:
        # It comes after the commit.
        return None
    is_new = frame.is_first and not writes and record.created_at >= frame.run.created_at
    return HeldCapture(step_id, record, frame.path, told, writes, is_new)


def _taken_over(record: CaptureRecord) -> RefusedError:
    done = " and has committed it" if record.status is Status.COMMITTED else ""
    return RefusedError(
        "CAPTURE_TAKEN_OVER",
        f"capture {record.id} of this run belongs to {record.run_ref} now{done}: what was written under it "
        "must not be written twice",
        "leave the changes to that run, or restart this one from the beginning, for what is new since",
    )


def _released(record: CaptureRecord) -> RefusedError:
    reason = (
        (record.outcome or {}).get("reason") or (record.outcome or {}).get("message") or "no reason given"
    )
    return RefusedError(
        "CAPTURE_RELEASED",
        f"capture {record.id} of this run is {record.status.value}: {reason}; its changes belong to another "
        "capture, so nothing may be written for this one",
        "restart the run from the beginning: it captures anew",
    )
