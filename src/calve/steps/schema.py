"""Short ways to write the params of a step type.

A map that a definition writes is a STRING_MAP or a MAP by what is in it. A param that may be either stands
in the options of its type alone, because a schema has to name one type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.steps.contract import StepType
from calve.workflow.params import InternalMode, ParamDefinition, ParamType


def required(name: str, type_: ParamType) -> ParamDefinition:
    """A param that every job of the type has to give."""
    return ParamDefinition(name=name, type=type_, internal_mode=InternalMode.REQUIRED)


def optional(name: str, type_: ParamType, default: Any = None) -> ParamDefinition:
    """A param that a job may give; without a default it is absent if nobody gives it."""
    return ParamDefinition(name=name, type=type_, value=default, internal_mode=InternalMode.OPTIONAL)


def schema(*params: ParamDefinition) -> Mapping[str, ParamDefinition]:
    """The params of a type by their names."""
    return {param.name: param for param in params}


def required_names(params: Mapping[str, ParamDefinition]) -> frozenset[str]:
    """The params of a schema that somebody has to give."""
    return frozenset(
        name
        for name, param in params.items()
        if param.internal_mode is InternalMode.REQUIRED and not param.is_defined
    )


def required_by(type_: StepType) -> frozenset[str]:
    """The params that every job of a type has to give."""
    needed = {name for name, field in type_.options.model_fields.items() if field.is_required()}
    given = {name for name, param in type_.schema.items() if param.is_defined}
    return (required_names(type_.schema) | needed) - given
