"""Breakpoints: steps that are held before they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, or_, select

from calve.engine.catalog.rows import lock_workflow
from calve.engine.catalog.versions import load_definition
from calve.errors import ConflictError, NotFoundError, UsageError
from calve.state.orchestration import breakpoints


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a breakpoint holds: a step, in all runs of its workflow unless it is narrowed down."""

    workflow_id: str
    step_id: str
    version: int | None = None
    instance_id: int | None = None
    run_id: int | None = None
    attempt_id: int | None = None


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A breakpoint that was set."""

    id: int
    place: Place
    author: str
    created_at: int

    def to_json(self) -> dict[str, Any]:
        """The breakpoint as the API shows it; what is not narrowed down is left out."""
        place = self.place
        shown = {
            "workflow_id": place.workflow_id,
            "workflow_version_id": place.version,
            "workflow_instance_id": place.instance_id,
            "workflow_run_id": place.run_id,
            "step_id": place.step_id,
            "step_attempt_id": place.attempt_id,
            "created_by": {"name": self.author},
            "create_time": self.created_at,
        }
        return {key: value for key, value in shown.items() if value is not None}


def add_breakpoint(connection: Connection, place: Place, author: str, now_ms: int) -> Breakpoint:
    """Set a breakpoint; refused if the same one is set already, or if no such step is known."""
    _check(connection, place)
    if connection.execute(select(breakpoints.c.id).where(*_exactly(place))).first() is not None:
        raise ConflictError(
            "BREAKPOINT_EXISTS",
            f"there is a breakpoint on step '{place.step_id}' of '{place.workflow_id}' for the same runs",
            "delete it first, or narrow the new one down",
        )
    row = {**asdict(place), "author": author, "created_at": now_ms}
    key = connection.execute(insert(breakpoints).values(row).returning(breakpoints.c.id)).scalar_one()
    return Breakpoint(key, place, author, now_ms)


def list_breakpoints(
    connection: Connection, workflow_id: str, step_id: str | None = None
) -> list[Breakpoint]:
    """The breakpoints of a workflow, or of one of its steps, the oldest first."""
    query = select(breakpoints).where(breakpoints.c.workflow_id == workflow_id).order_by(breakpoints.c.id)
    if step_id is not None:
        query = query.where(breakpoints.c.step_id == step_id)
    return [_from(row) for row in connection.execute(query)]


def delete_breakpoint(connection: Connection, place: Place) -> None:
    """Take away the breakpoint that was set at exactly this place; BREAKPOINT_NOT_FOUND if there is none.

    What it holds is not let go by this: the engine does that.
    """
    if not connection.execute(delete(breakpoints).where(*_exactly(place))).rowcount:
        raise NotFoundError(
            "BREAKPOINT_NOT_FOUND",
            f"there is no such breakpoint on step '{place.step_id}' of '{place.workflow_id}'",
            "list the breakpoints of the workflow, and name one as it is shown there",
        )


def matching(
    connection: Connection,
    workflow_id: str,
    step_id: str,
    version: int,
    instance_id: int,
    run_id: int,
    attempt_id: int,
) -> bool:
    """True if a breakpoint holds this attempt."""
    query = select(breakpoints.c.id).where(
        breakpoints.c.workflow_id == workflow_id,
        breakpoints.c.step_id == step_id,
        *(
            or_(column.is_(None), column == value)
            for column, value in (
                (breakpoints.c.version, version),
                (breakpoints.c.instance_id, instance_id),
                (breakpoints.c.run_id, run_id),
                (breakpoints.c.attempt_id, attempt_id),
            )
        ),
    )
    return connection.execute(query.limit(1)).first() is not None


def _check(connection: Connection, place: Place) -> None:
    workflow = lock_workflow(connection, place.workflow_id)
    for wider, narrower in (("instance_id", "run_id"), ("run_id", "attempt_id")):
        if getattr(place, wider) is None and getattr(place, narrower) is not None:
            raise UsageError(
                "BREAKPOINT_INVALID", f"the breakpoint names a {narrower} and no {wider}", f"name the {wider}"
            )
    version = place.version or workflow.active_version or workflow.latest_version
    steps = {step.id for step in load_definition(connection, place.workflow_id, version).workflow.all_steps()}
    if place.step_id not in steps:
        raise NotFoundError(
            "STEP_NOT_FOUND",
            f"version {version} of '{place.workflow_id}' has no step '{place.step_id}'",
            "use one of " + ", ".join(sorted(steps)[:20]),
        )


def _exactly(place: Place) -> Sequence[ColumnElement[bool]]:
    columns = asdict(place)
    return [
        breakpoints.c[name].is_(None) if value is None else breakpoints.c[name] == value
        for name, value in columns.items()
    ]


def _from(row: Row[Any]) -> Breakpoint:
    place = Place(
        workflow_id=row.workflow_id,
        step_id=row.step_id,
        version=row.version,
        instance_id=row.instance_id,
        run_id=row.run_id,
        attempt_id=row.attempt_id,
    )
    return Breakpoint(row.id, place, row.author, row.created_at)
