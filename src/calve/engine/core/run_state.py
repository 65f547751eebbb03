"""One run of an instance, as the engine that owns it holds it in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from calve.engine.core.graph import Graph
from calve.engine.core.inline_ids import inline_workflow_id
from calve.engine.core.step_state import StepState, params_from_text
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.model.transitions import check_run
from calve.engine.outbox import dump
from calve.workflow.definition import WorkflowDefinition
from calve.workflow.params import EvaluatedParam

#: Among the artifacts of a step that said that nothing is left to do, for whoever takes the run over.
SKIP_REST = "skip_rest"


@dataclass
class RunState:
    """A run with its steps. Statuses change through `move` alone."""

    id: int
    workflow_id: str
    instance_id: int
    run_id: int
    version: int
    uuid: str
    definition: WorkflowDefinition
    graph: Graph
    #: What the properties said when the run was loaded.
    properties: Any
    status: RunStatus
    initiator: dict[str, Any]
    request: dict[str, Any]
    #: The evaluated params as the database keeps them; they never change within a run.
    params_text: str
    #: The params of the runs around an iteration, which its steps see too.
    outer_values: dict[str, Any]
    created_at: int
    depth: int = 0
    inline: bool = False
    paused: bool = False
    blocking: bool = False
    ending: RunStatus | None = None
    parent_run: int | None = None
    parent_step: str | None = None
    root_run: int | None = None
    error: dict[str, Any] | None = None
    started_at: int | None = None
    ended_at: int | None = None
    deadline_at: int | None = None
    stored: bool = True
    #: False: any engine may take it.
    owned: bool = True
    steps: dict[str, StepState] = field(default_factory=dict)
    #: True once a step said that nothing is left to do.
    skip_rest: bool = False

    @cached_property
    def params(self) -> dict[str, EvaluatedParam]:
        """The evaluated params with their definitions."""
        return params_from_text(self.params_text)

    @cached_property
    def values(self) -> dict[str, Any]:
        """The params that steps see, as plain values."""
        documents = json.loads(self.params_text)
        return {**self.outer_values, **{name: found["evaluated_result"] for name, found in documents.items()}}

    @property
    def owner_workflow_id(self) -> str:
        """The workflow whose definition this is: of an iteration, the one around it."""
        return self.definition.workflow.id

    @property
    def root(self) -> int:
        """The run at the top of the tree."""
        return self.id if self.root_run is None else self.root_run

    def inline_id(self, kind: str, step_id: str) -> str:
        """The id under which the iterations of one of its loops run."""
        return inline_workflow_id(kind, self.workflow_id, self.instance_id, step_id)

    @property
    def at_once(self) -> int | None:
        """How many leaf steps of the whole tree may run at a time: the root has the say."""
        stated = self.definition.workflow.instance_step_concurrency
        found: int | None = self.request.get("at_once", stated)
        return found

    @property
    def active_steps(self) -> list[StepState]:
        """Steps that are under way, or wait for their next attempt."""
        return [step for step in self.steps.values() if not step.status.is_over]

    def move(self, status: RunStatus, now_ms: int) -> None:
        """Go to a status, if the transition table lists it."""
        check_run(self.status, status)
        self.status = status
        if status is RunStatus.IN_PROGRESS:
            self.started_at = now_ms
        if status.is_terminal:
            self.ended_at = now_ms

    def outcome(self) -> RunStatus:
        """The status that the steps add up to, once all of them are over."""
        if self.ending is not None:
            return self.ending
        found = {step.status for step in self.steps.values()}
        if found & {StepStatus.FATALLY_FAILED, StepStatus.INTERNALLY_FAILED}:
            return RunStatus.FAILED
        if StepStatus.TIMED_OUT in found:
            return RunStatus.TIMED_OUT
        if StepStatus.STOPPED in found:
            return RunStatus.STOPPED
        return RunStatus.SUCCEEDED

    def overview(self) -> dict[str, Any]:
        """How many steps stand where."""
        counts: dict[str, int] = {}
        for step_id in self.graph.steps:
            step = self.steps.get(step_id)
            status = StepStatus.NOT_CREATED if step is None else step.status
            counts[status.value] = counts.get(status.value, 0) + 1
        return {
            "total_step_count": len(self.graph.steps),
            "step_overview": {status: {"cnt": count} for status, count in counts.items()},
        }

    def to_row(self, owner: int | None) -> dict[str, Any]:
        """All columns, as the database takes them."""
        return {
            **self.changes(owner),
            "workflow_id": self.workflow_id,
            "instance_id": self.instance_id,
            "run_id": self.run_id,
            "version": self.version,
            "uuid": self.uuid,
            "latest": True,
            "inline": self.inline,
            "parent_run": self.parent_run,
            "parent_step": self.parent_step,
            "root_run": self.root_run,
            "depth": self.depth,
            "initiator": dump(self.initiator),
            "params": self.params_text,
            "created_at": self.created_at,
        }

    def changes(self, owner: int | None) -> dict[str, Any]:
        """The columns that change while a run goes on."""
        over = self.status.is_terminal
        return {
            "id": self.id,
            "status": self.status.value,
            "paused": self.paused,
            "blocking": self.blocking,
            "ending": self.ending and self.ending.value,
            "owner": None if over or not self.owned else owner,
            "ready": not over,
            "overview": dump(self.overview()) if over else None,
            "error": None if self.error is None else dump(self.error),
            "request": dump(self.request),
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "deadline_at": self.deadline_at,
        }

    @classmethod
    def from_row(
        cls,
        row: Any,
        definition: WorkflowDefinition,
        graph: Graph,
        properties: Any,
        outer_values: dict[str, Any],
    ) -> RunState:
        """The run that a row describes, without its steps."""
        return cls(
            id=row.id,
            workflow_id=row.workflow_id,
            instance_id=row.instance_id,
            run_id=row.run_id,
            version=row.version,
            uuid=row.uuid,
            definition=definition,
            graph=graph,
            properties=properties,
            status=RunStatus(row.status),
            initiator=json.loads(row.initiator),
            request=json.loads(row.request),
            params_text=row.params,
            outer_values=outer_values,
            created_at=row.created_at,
            depth=row.depth,
            inline=row.inline,
            paused=row.paused,
            blocking=row.blocking,
            ending=None if row.ending is None else RunStatus(row.ending),
            parent_run=row.parent_run,
            parent_step=row.parent_step,
            root_run=row.root_run,
            error=None if row.error is None else json.loads(row.error),
            started_at=row.started_at,
            ended_at=row.ended_at,
            deadline_at=row.deadline_at,
        )
