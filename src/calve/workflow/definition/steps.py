"""The steps of a workflow: a job of some type, another workflow, or a loop over further steps."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    field_validator,
    model_validator,
)

from calve.workflow.definition.base import AnyCase, Many, Model, Some, refuse
from calve.workflow.definition.durations import Timeout
from calve.workflow.definition.identifiers import Name, StepId, Text
from calve.workflow.definition.params import LOOP_PARAMS, SUBWORKFLOW_ID, Params
from calve.workflow.definition.retry import RetryPolicy
from calve.workflow.definition.signals import Dependency, SignalOutput
from calve.workflow.definition.tags import Tags
from calve.workflow.params.model import ParamDefinition

FOREACH_CONCURRENCY_LIMIT = 500
NO_CONDITION = "true"


class FailureMode(StrEnum):
    """What a step that failed for good means for the rest of the run."""

    #: Other branches go on, then the run has failed.
    FAIL_AFTER_RUNNING = "FAIL_AFTER_RUNNING"
    #: All other steps are stopped.
    FAIL_IMMEDIATELY = "FAIL_IMMEDIATELY"
    #: The step counts as completed with an error, and its successors run.
    IGNORE_FAILURE = "IGNORE_FAILURE"


def _stripped(condition: str) -> str:
    text = condition.strip()
    if not text:
        raise refuse("CONDITION_EMPTY", "the condition is empty", expected="a SEL expression, or 'true'")
    return text


def _truth_as_text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


Condition = Annotated[str, BeforeValidator(_truth_as_text), AfterValidator(_stripped)]


class Transition(Model):
    """The steps that come after a step, each with the SEL condition of its edge.

    Predecessors may be stated, and are checked against the edges; they are not kept.
    """

    successors: dict[str, Condition] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _without_predecessors(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        kept = {key: item for key, item in value.items() if key != "predecessors"}
        return {**kept, "successors": kept.get("successors") or {}}


class StepBase(Model):
    """What every step has. Its JSON stands in a map of one key, the kind."""

    kind: ClassVar[str]

    #: Letters, digits, `.`, `-` and `_`, at most 128; it begins with a letter or `_`, and has no `__` in it.
    id: StepId
    #: A name for people.
    name: Name | None = None
    #: What it is for.
    description: Text | None = None
    #: What comes after it, and on which condition. It is stronger than what `dag` says of the job.
    transition: Transition = Transition()
    #: What it means for the run if it fails for good. If it is not set, `fail_after_running`.
    failure_mode: Annotated[FailureMode, AnyCase] | None = None
    #: Names whose permits it needs to run. A text is a tag with that name.
    tags: Tags = ()
    #: A duration, counted for each attempt. If it is not set, 10 days; at most 120.
    timeout: Timeout | None = None
    #: Signals and tables that it waits for before it runs: see below.
    signal_dependencies: Many[Dependency] = ()
    #: Signals that it sends when it has succeeded: see below.
    signal_outputs: Many[SignalOutput] = ()
    #: Its params; in YAML every key that is not a word.
    params: Params = Field(default_factory=dict)

    @field_validator("transition", mode="before")
    @classmethod
    def _unset(cls, value: Any) -> Any:
        return {} if value is None else value


class TypedStep(StepBase):
    """A job: `type` says what runs it, `sub_type` names the job template that it is made from."""

    kind: ClassVar[str] = "step"

    #: A step type or a job template; not case-sensitive.
    type: str
    #: The job template that it is made from; `type` may name it.
    sub_type: str | None = None
    #: The version of the job template; in YAML `type_version`.
    sub_type_version: str | None = None
    #: How often it is tried again, and after how long: see below.
    retry_policy: RetryPolicy | None = None


class SubworkflowStep(StepBase):
    """Starts another workflow, and waits for it unless `sync` is false."""

    kind: ClassVar[str] = "subworkflow"

    #: False: the step is done as soon as the workflow is started. If it is not set, true.
    sync: bool | None = None
    #: True: only the params of the step are passed on; otherwise those of the workflow too.
    explicit_params: bool | None = None

    @property
    def workflow_id(self) -> ParamDefinition:
        """The param that says which workflow to start."""
        return self.params[SUBWORKFLOW_ID]


class LoopStep(StepBase):
    """A step that runs further steps again and again."""

    #: The steps that are repeated; in YAML `jobs`.
    steps: Some[Step]

    @property
    def loop_params(self) -> dict[str, ParamDefinition]:
        """The params of the loop, in order; for foreach the first varies fastest."""
        found = self.params.get(LOOP_PARAMS)
        return {} if found is None else dict(found.members)


class ForeachStep(LoopStep):
    """Runs its steps for every combination of its loop params."""

    kind: ClassVar[str] = "foreach"

    #: How many iterations run at the same time. If it is not set, as many as the workflow may run steps.
    concurrency: int | None = Field(default=None, ge=1, le=FOREACH_CONCURRENCY_LIMIT)
    #: Kept for programs; Calve itself does not look at it.
    strict_ordering: bool | None = None


class WhileStep(LoopStep):
    """Runs its steps as long as the SEL condition holds."""

    kind: ClassVar[str] = "while"

    #: SEL: the jobs run again as long as it is true.
    condition: Condition


KINDS = (TypedStep.kind, SubworkflowStep.kind, ForeachStep.kind, WhileStep.kind)


def _kind(value: Any) -> str | None:
    if isinstance(value, StepBase):
        return value.kind
    return next(iter(value)) if isinstance(value, dict) and len(value) == 1 else None


def _unwrapped(value: Any) -> Any:
    return next(iter(value.values())) if isinstance(value, dict) else value


_Unwrapped = BeforeValidator(_unwrapped)

Step = Annotated[
    Annotated[TypedStep, _Unwrapped, Tag(TypedStep.kind)]
    | Annotated[SubworkflowStep, _Unwrapped, Tag(SubworkflowStep.kind)]
    | Annotated[ForeachStep, _Unwrapped, Tag(ForeachStep.kind)]
    | Annotated[WhileStep, _Unwrapped, Tag(WhileStep.kind)],
    Discriminator(_kind),
    PlainSerializer(lambda step: {step.kind: step.to_json()}, return_type=dict[str, Any]),
]

LoopStep.model_rebuild()
ForeachStep.model_rebuild()
WhileStep.model_rebuild()
