"""Triggers in plain words: what starts a workflow, and why one did or did not start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from calve.engine.signals.sending import latest_seq
from calve.engine.triggers.tables.decision import What
from calve.engine.views.triggers import workflow_triggers
from calve.server.dependencies import Json
from calve.ui.formats import words

_RESTS = "It rests: triggers of this kind are switched off in the properties."
_NO_TIME = "It rests: triggers on the time are switched off in the properties, or there is no further time."
_LOOKS: Mapping[str, str] = {
    What.START: "It started a run",
    What.NOTHING: "It does not run: up to date",
    What.RUNNING: "It does not run again yet",
    What.WAITING: "It waits",
    What.HELD: "It is held back",
    What.ERROR: "It cannot tell",
}
#: What only triggers on tables have to tell.
_NO_LOOK: Json = {
    "what": None,
    "decision_time": None,
    "waiting_since": None,
    "waits": [],
    "falls_behind": False,
    "instance_id": None,
    "start_time": None,
    "tables": [],
    "signals": [],
}


def read_triggers(connection: Connection, workflow_id: str) -> Json:
    """The triggers of the active version of a workflow, in words, and the newest starts that were refused."""
    found = workflow_triggers(connection, workflow_id)
    names = {name for one in found["signal_triggers"] for name in signal_names(one["definition"])}
    triggers = describe_triggers(found, {name: latest_seq(connection, name) for name in names})
    return {"triggers": triggers, "refusals": [_refusal(one, triggers) for one in found["refusals"]]}


def describe_triggers(found: Json, sent: Mapping[str, int]) -> list[Json]:
    """Triggers in words; `sent` has the numbers of the newest signals by name."""
    return [
        *(_time(one) for one in found["time_triggers"]),
        *(_signal(one, sent) for one in found["signal_triggers"]),
        *(_tables(one) for one in found["incremental_triggers"]),
    ]


def _refusal(one: Json, triggers: Sequence[Json]) -> Json:
    """A refused start; its trigger by its title, or by its kind if it is no longer there."""
    uuid = one["initiator"].get("trigger_uuid")
    kind = f"a trigger of another version ({words(one['initiator'].get('type'))})"
    title = next((trigger["title"] for trigger in triggers if trigger["uuid"] == uuid), kind)
    return {"at": one["time"], "trigger": title, "why": one["why"], "remedy": one["remedy"]}


def _with_refusal(one: Json, said: str) -> str:
    """What is said of a trigger, after why its last start was refused."""
    refusal = one["last_refusal"]
    return said if refusal is None else f"The start was refused: {refusal['why']}. {said}"


def _time(one: Json) -> Json:
    definition = one["definition"]
    said = "It starts when its time comes." if one["is_active"] else _NO_TIME
    if definition["type"] == "INTERVAL":
        said = "Triggers of this type are kept, and never start anything."
    return {
        **_NO_LOOK,
        "uuid": one["trigger_uuid"],
        "kind": "time",
        "title": schedule(definition),
        "active": one["is_active"],
        "said": _with_refusal(one, said),
        "next_time": one["next_time"],
        "facts": _facts({"up to": definition.get("fuzzy_max_delay")}, "later, so that not all start at once"),
    }


def _signal(one: Json, sent: Mapping[str, int]) -> Json:
    definition, used = one["definition"], one["used_signals"]
    names = signal_names(definition)
    signals = [{"name": name, "used": used.get(name, 0), "newest": sent.get(name, 0)} for name in names]
    said = _why_not(signals) if one["is_active"] else _RESTS
    return {
        **_NO_LOOK,
        "uuid": one["trigger_uuid"],
        "kind": "signal",
        "title": f"On the signal{'' if len(names) == 1 else 's'} {' and '.join(names)}",
        "active": one["is_active"],
        "said": _with_refusal(one, said),
        "next_time": None,
        "facts": [f"{key}: {definition[key]}" for key in ("condition", "dedup_expr") if definition.get(key)],
        "signals": signals,
    }


def _why_not(signals: Sequence[Json]) -> str:
    here = [one["name"] for one in signals if one["newest"] > one["used"]]
    missing = [one["name"] for one in signals if one["name"] not in here]
    if not missing:
        return "All its signals are here: they do not fit together, or an engine has yet to look."
    waits = f"It waits for {' and '.join(missing)}"
    return f"{waits}; {' and '.join(here)} {'is' if len(here) == 1 else 'are'} here." if here else f"{waits}."


def _tables(one: Json) -> Json:
    definition, decision = one["definition"], one["decision"] or {}
    tables = definition.get("tables") or []
    return {
        "uuid": one["trigger_uuid"],
        "kind": "incremental",
        "title": "When tables change" + (f": {', '.join(tables)}" if tables else ""),
        "active": one["is_active"],
        "said": _why(one, decision) if one["is_active"] else _RESTS,
        "what": decision.get("what"),
        "next_time": None,
        "decision_time": one["decision_time"],
        "waiting_since": one["waiting_since"],
        "waits": one["waits"],
        "falls_behind": one["falls_behind"],
        "instance_id": one["workflow_instance_id"],
        "start_time": one["start_time"],
        "facts": [f"{key}: {value}" for key, value in definition.items() if key != "tables"],
        "tables": decision.get("tables", []),
        "signals": [],
    }


def _why(one: Json, decision: Json) -> str:
    if not decision:
        return "Nobody has looked at its tables yet: an engine does."
    if decision["what"] == What.START and one["last_refusal"] is not None:
        return _with_refusal(one, f"It was to start because of this: {decision['why']}.")
    said = f"{_LOOKS.get(decision['what'], decision['what'])}: {decision['why']}."
    if decision["what"] == What.NOTHING:
        said = f"{_LOOKS[What.NOTHING]}, {decision['why']}."
    return _with_refusal(one, said)


def schedule(definition: Json) -> str:
    """When a trigger on the time starts, and where."""
    when = definition.get("cron") or definition.get("expression") or definition.get("interval")
    return f"{when} {definition.get('timezone') or 'UTC'}"


def signal_names(definition: Json) -> list[str]:
    """The signals that a trigger waits for."""
    return list(definition.get("definitions", {}))


def _facts(given: Mapping[str, Any], after: str) -> list[str]:
    return [f"{key} {value} {after}" for key, value in given.items() if value]
