"""What can be asked of the orchestrator, and what it answers. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from calve.workflow.params import ParamDefinition, ParamSource

Params = Mapping[str, ParamDefinition]


class InitiatorType(StrEnum):
    """Who starts an instance."""

    MANUAL = "MANUAL"
    TIME = "TIME"
    SIGNAL = "SIGNAL"
    INCREMENTAL = "INCREMENTAL"
    SUBWORKFLOW = "SUBWORKFLOW"
    FOREACH = "FOREACH"
    WHILE = "WHILE"
    #: A chunk of a backfill; its scope stands beside the type, under `backfill`.
    BACKFILL = "BACKFILL"


class RestartPolicy(StrEnum):
    """Which steps a further run of an instance runs."""

    RESTART_FROM_INCOMPLETE = "RESTART_FROM_INCOMPLETE"
    RESTART_FROM_BEGINNING = "RESTART_FROM_BEGINNING"
    RESTART_FROM_SPECIFIC = "RESTART_FROM_SPECIFIC"


class StartOutcome(StrEnum):
    """What became of a request to start."""

    CREATED = "CREATED"
    #: The same request id was there before: the answer names what it started.
    DUPLICATED = "DUPLICATED"
    #: The run strategy did not let it run.
    STOPPED = "STOPPED"


@dataclass(frozen=True, kw_only=True, slots=True)
class StartRequest:
    """A new instance of a workflow."""

    workflow_id: str
    #: `active`, `latest`, `default` (active, else latest), or a number.
    version: str | int = "active"
    params: Params = field(default_factory=dict)
    #: `type` is an InitiatorType; the rest depends on it (`timezone`, `trigger_uuid`, `params`, …).
    initiator: Mapping[str, Any] = field(default_factory=lambda: {"type": InitiatorType.MANUAL.value})
    #: Two requests with the same id are one.
    request_id: str | None = None
    author: str = ""
    source: ParamSource = ParamSource.LAUNCH
    #: Params for single steps, by step id.
    step_params: Mapping[str, Params] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class RestartRequest:
    """A further run of an instance that is over."""

    workflow_id: str
    instance_id: int
    policy: RestartPolicy = RestartPolicy.RESTART_FROM_INCOMPLETE
    params: Params = field(default_factory=dict)
    request_id: str | None = None
    author: str = ""
    #: For RESTART_FROM_SPECIFIC: where to begin; everything after it runs again too.
    step_id: str | None = None
    #: Steps that are not run, but counted as skipped.
    skip: tuple[str, ...] = ()
    step_params: Mapping[str, Params] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """An instance that was asked for. `run` is the key of the run in the state."""

    workflow_id: str
    instance_id: int
    run_id: int
    uuid: str
    status: StartOutcome
    run: int
