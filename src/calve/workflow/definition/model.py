"""A workflow, and the request that pushes it: the one model that YAML, JSON and Python come to."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, field_validator

from calve.workflow.definition.base import AnyCase, Many, Model, OpenModel, Some
from calve.workflow.definition.durations import Timeout
from calve.workflow.definition.identifiers import Name, Text, WorkflowId
from calve.workflow.definition.incremental import IncrementalTrigger
from calve.workflow.definition.params import Params
from calve.workflow.definition.properties import GitInfo, Properties
from calve.workflow.definition.signals import SignalTrigger
from calve.workflow.definition.steps import LoopStep, Step
from calve.workflow.definition.tags import Tags
from calve.workflow.definition.triggers import TimeTrigger

INSTANCE_STEP_CONCURRENCY_LIMIT = 999


class Criticality(StrEnum):
    """How much a workflow matters."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Workflow(Model):
    """A workflow: what starts it, its params and its steps. Immutable once pushed."""

    id: WorkflowId
    name: Name | None = None
    description: Text | None = None
    tags: Tags = ()
    timeout: Timeout | None = None
    time_triggers: Many[TimeTrigger] = ()
    signal_triggers: Many[SignalTrigger] = ()
    incremental_triggers: Many[IncrementalTrigger] = ()
    criticality: Annotated[Criticality, AnyCase] | None = None
    #: How many leaf steps of one root instance may run at a time; None is no limit.
    instance_step_concurrency: int | None = Field(default=None, ge=1, le=INSTANCE_STEP_CONCURRENCY_LIMIT)
    params: Params = Field(default_factory=dict)
    steps: Some[Step]

    def all_steps(self) -> Iterator[Step]:
        """Every step, those inside loops after their loop."""
        return _walk(self.steps)


class WorkflowDefinition(OpenModel):
    """A push: the properties, the workflow, and what is said about them. Other keys are kept."""

    properties: Properties = Properties()
    workflow: Workflow
    is_active: bool = True
    git_info: GitInfo | None = None

    @field_validator("properties", "is_active", mode="before")
    @classmethod
    def _unset(cls, value: Any, info: Any) -> Any:
        return cls.model_fields[info.field_name].default if value is None else value

    @property
    def extra(self) -> dict[str, Any]:
        """The keys that the model does not know."""
        return dict(self.model_extra or {})


def _walk(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step, LoopStep):
            yield from _walk(step.steps)
