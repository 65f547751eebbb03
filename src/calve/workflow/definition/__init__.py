"""The definition language: one model, and YAML, JSON and Python as three ways to it.

`load_yaml` and `load_json` read a text and check all of it; `to_yaml` and `WorkflowDefinition.to_json`
write it.
"""

from __future__ import annotations

from calve.workflow.definition.inclusion import FileReader
from calve.workflow.definition.job_types import DEFAULT_TYPES, STEP_TYPES, JobType, JobTypes, KnownJobTypes
from calve.workflow.definition.loading import Loaded, check_definition, load_json, load_tree, load_yaml
from calve.workflow.definition.model import Workflow, WorkflowDefinition
from calve.workflow.definition.problems import DefinitionError, DefinitionWarning, InvalidDefinitionError
from calve.workflow.definition.steps import ForeachStep, LoopStep, Step, SubworkflowStep, TypedStep, WhileStep
from calve.workflow.definition.writing.text import to_yaml

__all__ = [
    "DEFAULT_TYPES",
    "STEP_TYPES",
    "DefinitionError",
    "DefinitionWarning",
    "FileReader",
    "ForeachStep",
    "InvalidDefinitionError",
    "JobType",
    "JobTypes",
    "KnownJobTypes",
    "Loaded",
    "LoopStep",
    "Step",
    "SubworkflowStep",
    "TypedStep",
    "WhileStep",
    "Workflow",
    "WorkflowDefinition",
    "check_definition",
    "load_json",
    "load_tree",
    "load_yaml",
    "to_yaml",
]
