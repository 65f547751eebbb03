"""Signals and triggers back to the YAML language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from calve.workflow.definition.incremental import TABLES, IncrementalTrigger
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.signals import (
    VALID_THROUGH,
    Operator,
    SignalDependency,
    SignalOutput,
    SignalTrigger,
    TableDependency,
)
from calve.workflow.definition.triggers import CronTrigger, IntervalTrigger, PredefinedTrigger
from calve.workflow.definition.writing.params import inexpressible, write_param, write_params


def write_triggers(workflow: Workflow) -> Any:
    """What stands under `Trigger:`; None if nothing starts the workflow by itself."""
    found: list[dict[str, Any]] = [_time(trigger) for trigger in workflow.time_triggers]
    found += [{"signal": _signal(trigger)} for trigger in workflow.signal_triggers]
    found += [{"incremental": _incremental(trigger)} for trigger in workflow.incremental_triggers]
    return found[0] if len(found) == 1 else found or None


def write_dependencies(dependencies: Sequence[SignalDependency | TableDependency]) -> list[Any]:
    """What stands under `signal_dependencies`."""
    return [_dependency(dependency) for dependency in dependencies]


def write_outputs(outputs: Sequence[SignalOutput]) -> list[Any]:
    """What stands under `signal_outputs`."""
    return [_output(output) for output in outputs]


def _time(trigger: CronTrigger | PredefinedTrigger | IntervalTrigger) -> dict[str, Any]:
    if isinstance(trigger, IntervalTrigger):
        raise inexpressible("it has a trigger of type INTERVAL")
    made = trigger.to_json()
    made.pop("type")
    when = made.pop("expression", None) or made.pop("cron")
    return {"cron": when, **made}


def _signal(trigger: SignalTrigger) -> Any:
    definitions = {}
    for name, entry in trigger.definitions.items():
        matches = {
            param: match.value if match.operator is Operator.EQUAL else match.to_json()
            for param, match in entry.match_params.items()
        }
        made = {"match_params": matches, "join_keys": list(entry.join_keys)}
        definitions[name] = {key: value for key, value in made.items() if value}
    if not any(definitions.values()) and not (trigger.params or trigger.condition or trigger.dedup_expr):
        names = list(definitions)
        return names[0] if len(names) == 1 else names
    rest = {
        "condition": trigger.condition,
        "dedup_expr": trigger.dedup_expr,
        "params": write_params(trigger.params),
    }
    return {"definitions": definitions, **{key: value for key, value in rest.items() if value}}


def _incremental(trigger: IncrementalTrigger) -> Any:
    made = trigger.to_json()
    if set(made) != {TABLES}:
        return made or True
    tables = made[TABLES]
    return tables[0] if len(tables) == 1 else tables


def _dependency(dependency: SignalDependency | TableDependency) -> Any:
    if isinstance(dependency, TableDependency):
        key, value = write_param(replace(dependency.valid_through, name=VALID_THROUGH))
        return {"table": dependency.table, key: value}
    if not dependency.match_params:
        return dependency.name
    matches = {}
    for name, match in dependency.match_params.items():
        # The name of the param is the key; the one inside is of no account.
        key, value = write_param(replace(match.param, name=name))
        is_equal = match.operator is Operator.EQUAL
        matches[key] = value if is_equal else {"value": value, "operator": match.operator.value}
    return {"name": dependency.name, "match_params": matches}


def _output(output: SignalOutput) -> Any:
    if not output.params and not output.payload:
        return output.name
    made = {
        "name": output.name,
        "params": write_params(output.params),
        "payload": write_params(output.payload),
    }
    return {key: value for key, value in made.items() if value}
