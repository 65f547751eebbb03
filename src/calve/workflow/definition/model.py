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

    #: Letters, digits, `.`, `-` and `_`, at most 128.
    id: WorkflowId
    #: A name for people.
    name: Name | None = None
    #: What it is for.
    description: Text | None = None
    #: Names to search by; all steps of the workflow need their permits. A text is a tag with that name.
    tags: Tags = ()
    #: A duration: a run that takes longer is TIMED_OUT. At most 120 days.
    timeout: Timeout | None = None
    #: Times that start it; in YAML under `Trigger`.
    time_triggers: Many[TimeTrigger] = ()
    #: Signals that start it; in YAML under `Trigger`.
    signal_triggers: Many[SignalTrigger] = ()
    #: Tables whose changes start it; in YAML under `Trigger`.
    incremental_triggers: Many[IncrementalTrigger] = ()
    #: How much it matters, for people; Calve itself does not look at it.
    criticality: Annotated[Criticality, AnyCase] | None = None
    #: How many steps of one instance run at the same time, those of its loops and subworkflows included. If
    #: it is not set, there is no limit.
    instance_step_concurrency: int | None = Field(default=None, ge=1, le=INSTANCE_STEP_CONCURRENCY_LIMIT)
    #: Its params; in YAML every key that is not a word.
    params: Params = Field(default_factory=dict)
    #: Its steps; in YAML `jobs`.
    steps: Some[Step]

    def all_steps(self) -> Iterator[Step]:
        """Every step, those inside loops after their loop."""
        return _walk(self.steps)


class WorkflowDefinition(OpenModel):
    """A push: the properties, the workflow, and what is said about them. Other keys are kept."""

    #: What changes without a new version: see below.
    properties: Properties = Properties()
    #: The workflow: see below.
    workflow: Workflow
    #: Whether the version becomes the active one.
    is_active: bool = True
    #: Where it comes from.
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
