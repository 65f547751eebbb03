"""What a trigger leaves to the rest of the workflow has to be there."""

from __future__ import annotations

from calve.workflow.definition.captures import find_fault
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import Node


def check_triggers(workflow: Workflow, written: Node, problems: Problems) -> None:
    """A trigger without tables takes those of the capture steps: there must be some."""
    nodes = (written.get("incremental_triggers") or Node([], written.at)).items()
    for trigger, node in zip(workflow.incremental_triggers, nodes, strict=True):
        fault = find_fault(workflow) if trigger.tables is None else None
        if fault is not None:
            problems.error(
                "TRIGGER_TABLES_MISSING",
                fault,
                node.at,
                expected="'tables', or an IpCapture step with source_tables",
            )
