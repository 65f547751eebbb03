"""The stages of a merge, in their order: what makes the params of a workflow and of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from calve.workflow.params.defaults import STEP_DEFAULTS, WORKFLOW_DEFAULTS
from calve.workflow.params.evaluated import EvaluatedParam
from calve.workflow.params.kinds import ParamSource
from calve.workflow.params.merge import Definitions, MergeContext, merge_stages
from calve.workflow.params.model import ParamDefinition


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The params that come with a start or a restart, and who gives them."""

    params: Definitions = field(default_factory=dict)
    #: LAUNCH, SIGNAL, TIME_TRIGGER, SUBWORKFLOW, FOREACH, WHILE; RESTART for a user's restart.
    source: ParamSource = ParamSource.LAUNCH
    #: True where a parent or a trigger starts the run, and not a person.
    upstream: bool = False

    def context(self, restart: bool) -> MergeContext:
        """The context in which these params are merged."""
        return MergeContext(self.source, upstream=self.upstream, restart=restart)


def start_params(
    definition: Definitions, request: RunRequest, defaults: Definitions = WORKFLOW_DEFAULTS
) -> dict[str, ParamDefinition]:
    """The params of a workflow's first run."""
    return merge_stages(
        (
            (defaults, MergeContext(ParamSource.SYSTEM_DEFAULT, upstream=request.upstream)),
            (definition, MergeContext(ParamSource.DEFINITION, upstream=request.upstream)),
            (request.params, request.context(restart=False)),
        )
    )


def restart_params(previous: Mapping[str, EvaluatedParam], request: RunRequest) -> dict[str, ParamDefinition]:
    """The params of a further run: the results of the run before, changed by the request."""
    before = {name: param.to_definition() for name, param in previous.items()}
    return merge_stages(
        ((before, MergeContext(ParamSource.SYSTEM)), (request.params, request.context(restart=True)))
    )


@dataclass(frozen=True, slots=True)
class StepStages:
    """What the params of a step are merged from, in the order of the merge."""

    definition: Definitions
    type_defaults: Definitions = field(default_factory=dict)
    template: Definitions = field(default_factory=dict)
    injected: Definitions = field(default_factory=dict)
    run_params: Definitions = field(default_factory=dict)
    restart_params: Definitions = field(default_factory=dict)
    global_defaults: Definitions = field(default_factory=lambda: STEP_DEFAULTS)


def step_params(
    stages: StepStages, source: ParamSource = ParamSource.LAUNCH, *, restart: bool = False
) -> dict[str, ParamDefinition]:
    """The params of a step, not yet evaluated."""
    user = MergeContext(source, restart=restart)
    return merge_stages(
        (
            (stages.global_defaults, MergeContext(ParamSource.SYSTEM_DEFAULT)),
            (stages.type_defaults, MergeContext(ParamSource.SYSTEM_DEFAULT)),
            (stages.template, MergeContext(ParamSource.TEMPLATE_SCHEMA)),
            (stages.injected, MergeContext(ParamSource.SYSTEM_INJECTED)),
            (stages.definition, MergeContext(ParamSource.DEFINITION)),
            (stages.run_params, user),
            (stages.restart_params, user),
        )
    )
