"""Params as a part of the model: definitions of `calve.workflow.params`, by name."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf, PlainSerializer

from calve.errors import UsageError
from calve.workflow.definition.base import refuse
from calve.workflow.params.model import ParamDefinition

#: The code of a fault in any of the params; which one it is, the check of params says.
PARAMS_FAULT = "PARAM_INVALID"
PARAM_COUNT_LIMIT = 128
LOOP_PARAMS = "loop_params"
SUBWORKFLOW_ID = "subworkflow_id"
SUBWORKFLOW_VERSION = "subworkflow_version"

RESERVED_NAMES = frozenset(
    {
        *("maestro", "Maestro", "MAESTRO", "scheduler", "Scheduler", "SCHEDULER"),
        *("util", "Util", "UTIL", "params", "Params", "PARAMS"),
        *("AUTH_BLOB", "AUTH_DATA", "AUTH_ACTING_ON_BEHALF_OF_BLOB", "AUTH_TRIGGERING_ON_BEHALF_OF_BLOB"),
        "AUTHORIZED_MANAGERS",
    }
)


def _read(value: Any) -> Any:
    if value is None:
        return {}
    if not isinstance(value, dict):
        return value
    try:
        return {name: _read_one(name, item) for name, item in value.items()}
    except UsageError as error:
        raise refuse(PARAMS_FAULT, error.message) from error


def _read_one(name: str, item: Any) -> ParamDefinition:
    return item if isinstance(item, ParamDefinition) else ParamDefinition.from_json(name, item)


def _one(value: Any) -> Any:
    return value if isinstance(value, ParamDefinition) else _read({"param": value})["param"]


Param = Annotated[
    InstanceOf[ParamDefinition],
    PlainSerializer(lambda param: param.to_json(), return_type=dict[str, Any]),
]
Params = Annotated[dict[str, Param], BeforeValidator(_read)]
#: A single param, named by where it stands.
LoneParam = Annotated[Param, BeforeValidator(_one)]
