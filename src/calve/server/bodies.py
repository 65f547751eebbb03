"""What requests carry, in Maestro's form. A key that is not known is refused."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from calve.engine.model.requests import InitiatorType, RestartPolicy
from calve.workflow.definition.base import AnyCase
from calve.workflow.definition.properties import STEP_CONCURRENCY_DEFAULT, Properties
from calve.workflow.definition.run_strategy import SEQUENTIAL
from calve.workflow.params import ParamDefinition

Document = dict[str, Any]
#: The number of a version, an instance, a run or an attempt.
Counted = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Body(BaseModel):
    """A body that is checked."""

    model_config = ConfigDict(extra="forbid")


class Initiator(BaseModel):
    """Who starts an instance; more may be said of it."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[InitiatorType, AnyCase] = InitiatorType.MANUAL


class StartBody(Body):
    """A start."""

    initiator: Initiator = Field(default_factory=Initiator)
    request_time: int | None = None
    request_id: str | None = Field(default=None, description="Two starts with the same id are one.")
    runtime_tags: list[Any] | None = None
    run_params: Document | None = Field(default=None, description="Params by name, typed or plain values.")
    artifacts: Document | None = None
    persist_failed_run: bool = False


class RestartBody(Body):
    """A further run of an instance."""

    request_time: int | None = None
    request_id: str | None = None
    restart_policy: Annotated[RestartPolicy, AnyCase] = RestartPolicy.RESTART_FROM_INCOMPLETE
    run_params: Document | None = None


class StepRestartBody(Body):
    """A further attempt of a step, or a further run from it."""

    request_time: int | None = None
    request_id: str | None = None
    restart_policy: Annotated[RestartPolicy, AnyCase] = RestartPolicy.RESTART_FROM_SPECIFIC
    step_run_params: dict[str, Document] | None = Field(
        default=None, description="Params by step, each by name."
    )
    upstream_restart_mode: str | None = None


class PropertiesBody(Properties):
    """Properties to change; what is not stated stays. A reset brings a default back."""

    reset_run_strategy_rule: bool = False
    reset_workflow_concurrency: bool = False
    reset_step_concurrency: bool = False

    def to_properties(self) -> Properties:
        """The change, with the resets in it."""
        stated = {name: getattr(self, name) for name in Properties.model_fields}
        if self.reset_run_strategy_rule or self.reset_workflow_concurrency:
            stated["run_strategy"] = SEQUENTIAL
        if self.reset_step_concurrency:
            stated["step_concurrency"] = STEP_CONCURRENCY_DEFAULT
        return Properties(**stated)


class SignalBody(BaseModel):
    """A signal; every key that is not listed belongs to its payload."""

    model_config = ConfigDict(extra="allow")

    name: str
    params: dict[str, str | int] = Field(default_factory=dict)
    payload: Document = Field(default_factory=dict)
    request_id: str | None = None
    request_time: int | None = None

    def full_payload(self) -> Document:
        """The payload with the keys that stand beside it."""
        return {**self.payload, **(self.model_extra or {})}


class ValidThroughBody(Body):
    """Up to which moment a table is complete: a date or timestamp, or milliseconds since 1970."""

    valid_through: StrictInt | StrictStr


class BreakpointBody(Body):
    """Where a breakpoint holds; what is not stated is any."""

    workflow_id: str
    step_id: str
    workflow_version: Counted | None = None
    workflow_instance_id: Counted | None = None
    workflow_run: Counted | None = None
    step_attempt_id: Counted | None = None


class LoopBody(BaseModel):
    """A loop step of an instance; only the first of a path needs the id of its workflow."""

    workflow_id: str = ""
    instance_id: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    step_id: str = ""


class PermitBody(Body):
    """How many steps with a tag may run at a time."""

    tag: str
    max_allowed: int


class OutputBody(BaseModel):
    """What an external job gives back to its step."""

    model_config = ConfigDict(extra="allow")

    external_job_type: str = Field(min_length=1, max_length=128)
    external_job_id: str = Field(min_length=1, max_length=512)
    params: Document = Field(default_factory=dict)
    artifacts: Document = Field(default_factory=dict)


def read_params(given: Mapping[str, Any] | None) -> dict[str, ParamDefinition]:
    """Params as callers write them: Maestro's objects, or plain values whose type is that of the value."""
    return {name: _read_param(name, value) for name, value in (given or {}).items()}


def _read_param(name: str, value: Any) -> ParamDefinition:
    if isinstance(value, Mapping) and ("value" in value or "expression" in value):
        return ParamDefinition.from_json(name, value)
    return ParamDefinition.infer(name, value)


_JSON: Document = {"application/json": {"schema": {"type": "object"}}}
_YAML: Document = {"application/yaml": {"schema": {"type": "string"}}}


def _described(content: Document) -> Document:
    """How the API describes a body that it reads as a text; of its own for each route."""
    return {"requestBody": {"required": True, "content": copy.deepcopy(content)}}


def json_text() -> Document:
    """A body in JSON."""
    return _described(_JSON)


def yaml_text() -> Document:
    """A body in YAML."""
    return _described(_YAML)


def json_or_yaml_text() -> Document:
    """A body in either, as its content type says."""
    return _described(_JSON | _YAML)


async def _text(request: Request) -> str:
    return (await request.body()).decode("utf-8", errors="replace")


#: The body as it came, for texts whose errors point at lines and columns.
TextBody = Annotated[str, Depends(_text)]
