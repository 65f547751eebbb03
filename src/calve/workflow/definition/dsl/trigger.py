"""`Trigger:` at the top of a file: one trigger, or a list of them.

Trigger: {cron: '@daily', timezone: UTC, fuzzy_max_delay: 10 min}
Trigger: [{cron: 0 5 * * *}, {signal: db/table}, {incremental: db.table}]
Trigger: {incremental: {tables: [db.a, db.b], every: 15m, min_rows: 1000, max_delay: 1h}}
Trigger: {incremental: true}    # the sources of the workflow's own capture steps
"""

from __future__ import annotations

from calve.workflow.definition.dsl.scalars import as_text, copy, expect_map, one_of
from calve.workflow.definition.dsl.signals import read_trigger
from calve.workflow.definition.incremental import OTHER_NAME, TABLES
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import MapBuilder, Node

_TIME = ("cron", "timezone", "fuzzy_max_delay")
_WORDS = frozenset({*_TIME, "signal", "incremental"})
TRIGGER_FORM = "a map with cron, signal or incremental"


def read_triggers(node: Node, into: MapBuilder, problems: Problems) -> None:
    """Add the triggers to a workflow in the model's form."""
    found: dict[str, list[Node]] = {"time_triggers": [], "signal_triggers": [], "incremental_triggers": []}
    for item in node.items() if node.is_list else [node]:
        if expect_map(item, "a trigger", problems):
            _read_one(item, found, problems)
    for key, triggers in found.items():
        if triggers:
            into.put(key, Node(triggers, triggers[0].at))


def _read_one(item: Node, found: dict[str, list[Node]], problems: Problems) -> None:
    for key, at, _ in item.entries():
        if key not in _WORDS:
            problems.error(
                "KEY_UNKNOWN",
                f"'{key}' is not a part of a trigger",
                at,
                found=key,
                expected=TRIGGER_FORM,
                among=_WORDS,
            )
    cron, signal, incremental = item.get("cron"), item.get("signal"), item.get("incremental")
    if cron is None and signal is None and incremental is None:
        problems.error("KEY_MISSING", "the trigger says nothing of when", item.at, expected=TRIGGER_FORM)
    if cron is not None:
        found["time_triggers"].append(_time(item, cron))
    if signal is not None and (trigger := read_trigger(signal, problems)) is not None:
        found["signal_triggers"].append(trigger)
    if incremental is not None:
        found["incremental_triggers"].append(_incremental(incremental, problems))


def _time(item: Node, cron: Node) -> Node:
    made = MapBuilder(item.at)
    named = cron.text is not None and cron.text.startswith("@")
    made.put("type", "PREDEFINED" if named else "CRON")
    made.put("expression" if named else "cron", as_text(cron), item.keys["cron"])
    copy(item, made, "timezone", "fuzzy_max_delay")
    return made.build()


def _incremental(node: Node, problems: Problems) -> Node:
    made = MapBuilder(node.at)
    if not node.is_map:
        if node.value is not True:
            made.put(TABLES, _listed(node))
        return made.build()
    tables = one_of(node, problems, TABLES, OTHER_NAME)
    if tables is not None and tables.value is not None:
        made.put(TABLES, _listed(tables), node.keys.get(TABLES) or node.keys.get(OTHER_NAME))
    for key, at, value in node.entries():
        if key not in (TABLES, OTHER_NAME):
            made.put(key, _listed(value) if key == "data_operations" else value, at)
    return made.build()


def _listed(node: Node) -> Node:
    return node if node.is_list else Node([node], node.at)
