"""Permits: how many steps with a tag may run at a time, over all engines."""

from __future__ import annotations

from sqlalchemy import func, select

from calve.engine.core.batch import Batch
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.state.dialect import lock_name
from calve.state.orchestration import permit_limits, permits
from calve.workflow.definition.properties import STEP_CONCURRENCY_DEFAULT


def try_permits(batch: Batch, run: RunState, step: StepState) -> str | None:
    """Take all permits that a step needs, or none; the tag that has no room, or None if all have."""
    limits = limits_of(batch, run, step)
    for tag in sorted(limits):
        if _taken(batch, tag) >= limits[tag]:
            return tag
    for tag in limits:
        batch.gain_permit(tag, step)
    return None


def limits_of(batch: Batch, run: RunState, step: StepState) -> dict[str, int]:
    """The tags of a step that have a limit, with it."""
    owner = run.owner_workflow_id
    limits = {f"maestro_{owner}": run.properties.step_concurrency or STEP_CONCURRENCY_DEFAULT}
    if run.at_once is not None:
        limits[f"maestro_instance:{run.root}"] = run.at_once
    names = [tag.name for tag in (*run.definition.workflow.tags, *run.properties.tags, *step.definition.tags)]
    for name in (*names, f"maestro_{owner}:{step.id}"):
        limit = _stored_limit(batch, name)
        if limit is not None:
            limits[name] = limit
    return limits


def _stored_limit(batch: Batch, tag: str) -> int | None:
    if tag not in batch.permit_limits:
        query = select(permit_limits.c.max_allowed).where(permit_limits.c.tag == tag)
        batch.permit_limits[tag] = batch.connection.execute(query).scalar()
    return batch.permit_limits[tag]


def _taken(batch: Batch, tag: str) -> int:
    if tag not in batch.permits_taken:
        lock_name(batch.connection, "permit", tag)
        query = select(func.count()).select_from(permits).where(permits.c.tag == tag)
        batch.permits_taken[tag] = batch.connection.execute(query).scalar_one()
    return batch.permits_taken[tag]
