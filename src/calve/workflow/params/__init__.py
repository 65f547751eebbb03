"""Typed parameters: definitions, merging by stages and modes, evaluation in scopes. Pure functions."""

from __future__ import annotations

from calve.workflow.params.evaluated import EvaluatedParam
from calve.workflow.params.evaluation import (
    Evaluation,
    ParamLimits,
    Scope,
    evaluate_condition,
    evaluate_params,
)
from calve.workflow.params.kinds import InternalMode, ParamMode, ParamSource, ParamType
from calve.workflow.params.merge import MergeContext, clean_params, merge_params
from calve.workflow.params.model import ParamDefinition, params_from_json, params_to_json
from calve.workflow.params.outputs import merge_outputs, outputs_from_json
from calve.workflow.params.resolver import Resolver
from calve.workflow.params.stages import RunRequest, StepStages, restart_params, start_params, step_params

__all__ = [
    "EvaluatedParam",
    "Evaluation",
    "InternalMode",
    "MergeContext",
    "ParamDefinition",
    "ParamLimits",
    "ParamMode",
    "ParamSource",
    "ParamType",
    "Resolver",
    "RunRequest",
    "Scope",
    "StepStages",
    "clean_params",
    "evaluate_condition",
    "evaluate_params",
    "merge_outputs",
    "merge_params",
    "outputs_from_json",
    "params_from_json",
    "params_to_json",
    "restart_params",
    "start_params",
    "step_params",
]
