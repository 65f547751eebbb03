"""The edges between steps, with what has to hold for each."""

from __future__ import annotations

from collections.abc import Iterable

from calve.server.dependencies import Json
from calve.ui.drawing.graph import Edge
from calve.workflow.definition.steps import NO_CONDITION


def find_conditions(definitions: Iterable[tuple[str, Json]]) -> dict[Edge, str]:
    """The edges of steps as they are stored, by id; an empty text is an edge that is always taken."""
    return {
        (step_id, after): "" if str(condition) == NO_CONDITION else str(condition)
        for step_id, definition in definitions
        for after, condition in ((definition.get("transition") or {}).get("successors") or {}).items()
    }


def add_conditions(picture: Json, conditions: dict[Edge, str]) -> Json:
    """A picture whose lines say their condition."""
    lines = [{**line, "condition": conditions[line["source"], line["target"]]} for line in picture["lines"]]
    return {**picture, "lines": lines}
