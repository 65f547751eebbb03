"""Edges back to `dag`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from calve.workflow.definition.dsl.dag import SEQUENTIAL, otherwise
from calve.workflow.definition.steps import NO_CONDITION, StepBase


def write_dag(steps: Sequence[StepBase]) -> str | dict[str, list[str]] | None:
    """What `dag` says of these steps; None if nothing follows on anything."""
    ways = {step.id: step.transition.successors for step in steps if step.transition.successors}
    if not ways:
        return None
    ids = [step.id for step in steps]
    if all(ways.get(first) == {then: NO_CONDITION} for first, then in pairwise(ids)) and ids[-1] not in ways:
        return SEQUENTIAL
    return {source: _rules(successors) for source, successors in ways.items()}


def _rules(successors: dict[str, str]) -> list[str]:
    rules: list[str] = []
    conditions: list[str] = []
    for index, (target, condition) in enumerate(successors.items()):
        is_last = index == len(successors) - 1
        if condition == NO_CONDITION:
            rules.append(target)
        elif is_last and conditions and condition == otherwise(conditions):
            rules.append(f"OTHERWISE {target}")
        else:
            conditions.append(condition)
            rules.append(f"IF {condition} THEN {target}")
    return rules
