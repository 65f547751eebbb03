"""The steps of a definition as a graph, before anything of it runs."""

from __future__ import annotations

from collections.abc import Sequence

from calve.engine.views.definitions import unwrapped
from calve.server.dependencies import Json
from calve.ui.drawing.graph import draw_graph
from calve.workflow.definition.params import SUBWORKFLOW_ID
from calve.workflow.definition.steps import NO_CONDITION


def definition_graph(steps: Sequence[Json]) -> Json:
    """The picture of steps as they are stored, and what is to be said of each; edges say their condition."""
    found = list(unwrapped(steps))
    facts: dict[str, Json] = {step["id"]: {"note": _note(step), "kind": step["kind"]} for step in found}
    ways = {(step["id"], target): text for step in found for target, text in _successors(step).items()}
    picture = draw_graph(
        {step["id"]: step["id"] for step in found},
        list(ways),
        {step_id: fact["note"] for step_id, fact in facts.items()},
    ).to_json()
    for line in picture["lines"]:
        text = ways[line["source"], line["target"]]
        line["condition"] = "" if text == NO_CONDITION else text
    return {"picture": picture, "facts": facts, "steps": len(found), "conditions": _conditions(picture)}


def _successors(step: Json) -> dict[str, str]:
    found: dict[str, str] = step.get("transition", {}).get("successors", {})
    return found


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
