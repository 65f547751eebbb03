"""The steps that a run is about: those of its version, or, for an iteration, those of the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from calve.engine.views.documents import Json, load_map, version_workflow
from calve.state.orchestration import workflow_versions


def step_definitions(connection: Connection, run: Row[Any]) -> dict[str, Json]:
    """The definitions of a run's steps by id, in their order; each has its kind under `kind`."""
    # An iteration says which loop of which workflow it is one of.
    loop = load_map(run.request).get("loop") or {}
    query = select(workflow_versions.c.definition).where(
        workflow_versions.c.workflow_id == loop.get("workflow_id", run.workflow_id),
        workflow_versions.c.version == run.version,
    )
    definition = load_map(connection.execute(query).scalar())
    found = list(unwrapped(version_workflow(definition)["steps"])) if definition else []
    if loop:
        found = _inside(found, loop["step_id"])
    return {step["id"]: step for step in found}


def unwrapped(steps: Sequence[Json]) -> Iterator[Json]:
    """Steps without the maps of one key that they stand in."""
    for wrapper in steps:
        for kind, step in wrapper.items():
            yield {**step, "kind": kind}


def _inside(steps: list[Json], loop: str) -> list[Json]:
    """The steps of a loop, wherever it stands."""
    waiting = list(steps)
    while waiting:
        step = waiting.pop()
        inner = list(unwrapped(step.get("steps", ())))
        if step["id"] == loop:
            return inner
        waiting += inner
    return []
