"""Triggers that fired, and no instance came of it: what the engine noted of them, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, literal, select

from calve.engine.triggers.starting import CONDITION_FALSE, DEDUP_FAILED, EVENT, FAILED
from calve.engine.views.documents import Json, load_map
from calve.state.orchestration import events

#: Among so many of the newest events refusals are looked for.
_LOOKED_AT = 300
_REFUSED = (FAILED, CONDITION_FALSE)


def newest_refusals(connection: Connection, workflow_id: str) -> list[Json]:
    """The refusals among the newest events of a workflow, the newest first."""
    newest = (
        select(events.c.id, events.c.at, events.c.kind, events.c.data)
        .where(events.c.workflow_id == workflow_id, events.c.run.is_(None))
        .order_by(events.c.id.desc())
        .limit(_LOOKED_AT)
        .subquery()
    )
    query = select(newest).where(newest.c.kind == EVENT).order_by(newest.c.id.desc())
    found = ((row.at, load_map(row.data)) for row in connection.execute(query))
    return [_refusal(at, data) for at, data in found if data["action"] in _REFUSED]


def failed_starts(connection: Connection, after_ms: int) -> dict[str, set[tuple[str, int]]]:
    """Starts by triggers that failed after a moment, by workflow, those with the newest first.

    Each is its trigger and its moment. In a flood of them only the newest are looked at.
    """
    # As a literal, which is how the partial index says it.
    query = (
        select(events.c.workflow_id, events.c.at, events.c.data)
        .where(events.c.kind == literal(EVENT, literal_execute=True))
        .order_by(events.c.id.desc())
        .limit(_LOOKED_AT)
    )
    found: dict[str, set[tuple[str, int]]] = {}
    for row in connection.execute(query):
        data = load_map(row.data)
        if row.at > after_ms and data["action"] == FAILED:
            found.setdefault(row.workflow_id, set()).add((data["initiator"].get("trigger_uuid", ""), row.at))
    return found


def find_refusal(refusals: Sequence[Json], trigger_uuid: str, **firing: Any) -> Json | None:
    """When and why a firing of a trigger was refused; None if it was not, or too long ago to be known.

    `firing` is what the initiator says of that firing alone.
    """
    for one in refusals:
        initiator = one["initiator"]
        if initiator.get("trigger_uuid") == trigger_uuid and firing.items() <= initiator.items():
            return {"time": one["time"], "why": one["why"]}
    return None


def trigger_words(data: Mapping[str, Any]) -> str | None:
    """What an event of a trigger says; None for events of other kinds."""
    match data.get("action"):
        case found if found in _REFUSED:
            return f"a trigger fired, and its start was refused: {_why(data)}"
        case found if found == DEDUP_FAILED:
            return f"the dedup_expr of a trigger was passed over: {_why(data)}"
        case _:
            return None


def _refusal(at: int, data: Json) -> Json:
    return {
        "time": at,
        "action": data["action"],
        "why": _why(data),
        "remedy": (data.get("error") or {}).get("remedy", ""),
        "initiator": data["initiator"],
    }


def _why(data: Mapping[str, Any]) -> str:
    if data["action"] == CONDITION_FALSE:
        return "its condition was false"
    return str(data["error"]["message"])
