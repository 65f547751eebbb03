"""The steps of a definition as a graph, before anything of it runs."""

from __future__ import annotations

from collections.abc import Sequence

from calve.engine.views.definitions import unwrapped
from calve.server.dependencies import Json
from calve.ui.drawing.graph import draw_graph
from calve.ui.views.conditions import add_conditions, find_conditions
from calve.workflow.definition.params import SUBWORKFLOW_ID


def definition_graph(steps: Sequence[Json]) -> Json:
    """The picture of steps as they are stored, and what is to be said of each; edges say their condition."""
    found = list(unwrapped(steps))
    facts: dict[str, Json] = {step["id"]: {"note": _note(step), "kind": step["kind"]} for step in found}
    conditions = find_conditions((step["id"], step) for step in found)
    picture = draw_graph(
        {step["id"]: step["id"] for step in found},
        list(conditions),
        {step_id: fact["note"] for step_id, fact in facts.items()},
    ).to_json()
    picture = add_conditions(picture, conditions)
    return {"picture": picture, "facts": facts, "steps": len(found), "conditions": _conditions(picture)}


def _conditions(picture: Json) -> list[Json]:
    return [
        {key: line[key] for key in ("source", "target", "condition")}
        for line in picture["lines"]
        if line["condition"]
    ]


def _note(step: Json) -> str:
    if step["kind"] == "subworkflow":
        target = step.get("params", {}).get(SUBWORKFLOW_ID, {}).get("value", step["id"])
        return f"runs {target}"
    if "steps" in step:
        count = _count(step["steps"])
        return f"{step['kind']}, {count} step{'' if count == 1 else 's'} inside"
    return str(step.get("sub_type") or step.get("type") or step["kind"])


def _count(steps: Sequence[Json]) -> int:
    return sum(1 + _count(step.get("steps", ())) for step in unwrapped(steps))
