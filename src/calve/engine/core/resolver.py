"""What params may ask of a running workflow, answered from its runs and steps."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, select

from calve.engine.core.batch import Batch
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.model.statuses import StepStatus
from calve.engine.signals.naming import SignalResolver
from calve.errors import CalveError, NotFoundError
from calve.state.orchestration import runs, steps

STATUS_FIELD = "MAESTRO_STEP_STATUS"
END_TIME_FIELD = "MAESTRO_STEP_END_TIME"


class InstanceResolver(SignalResolver):
    """Answers for the params of a workflow, before any step."""

    def __init__(self, fields: Mapping[str, Any], initiator: Mapping[str, Any]) -> None:
        super().__init__(initiator.get("params") or {})
        self._fields = fields

    def instance_field(self, field: str) -> Any:
        """A field of the instance; None if it is not set."""
        if field not in self._fields:
            raise missing(f"field '{field}' of an instance")
        return self._fields[field]

    def execution_environment(self) -> str:
        """The name of the environment."""
        return "calve"


def instance_fields(
    *,
    workflow_id: str,
    instance_id: int,
    run_id: int,
    owner: str,
    initiator: Mapping[str, Any],
    policy: str,
    first_timezone: str | None,
) -> dict[str, Any]:
    """The fields that `params.getFromInstance` knows."""
    return {
        "workflow_id": workflow_id,
        "workflow_instance_id": instance_id,
        "workflow_run_id": run_id,
        "owner": owner,
        "INITIATOR_TYPE": initiator.get("type"),
        "INITIATOR_TIMEZONE": initiator.get("timezone"),
        "INITIATOR_RUNNER_NAME": initiator.get("caller"),
        "RUN_POLICY": policy,
        "FIRST_TIME_TRIGGER_TIMEZONE": first_timezone,
    }


class StepResolver(InstanceResolver):
    """Answers for the params of a step, within a transaction of the engine."""

    def __init__(self, batch: Batch, run: RunState, step: StepState, fields: Mapping[str, Any]) -> None:
        super().__init__(fields, run.initiator)
        self._batch = batch
        self._run = run
        self._step = step

    def step_ids(self) -> Collection[str]:
        """The steps beside this one, and those around its loop."""
        if self._run.inline:
            return {step.id for step in self._run.definition.workflow.all_steps()}
        return self._run.graph.steps.keys()

    def step_param(self, step_id: str, name: str) -> Any:
        """A param of a step that has run before, here or around the loop."""
        found = self._run.steps.get(step_id)
        if found is not None:
            return _of_step(step_id, name, found.status, found.ended_at, found.values)
        return self._outer_param(step_id, name)

    def step_field(self, field: str) -> Any:
        """A field of the step itself."""
        step = self._step
        known = {
            "step_id": step.id,
            "step_instance_id": step.attempt_id,
            "step_instance_uuid": step.uuid,
            "step_attempt_id": step.attempt_id,
            "step_type_info": getattr(step.definition, "type", step.definition.kind),
            "MAESTRO_STEP_ERROR_RETRIES": step.retries["error"],
        }
        if field not in known:
            raise missing(f"field '{field}' of a step")
        return known[field]

    def dependency_param(self, index: int, name: str) -> Any:
        """A param of a signal that the step waited for."""
        if index < len(self._step.dependencies):
            params = self._step.dependencies[index].get("signal_params", {})
            if name in params:
                return params[name]
        raise missing(f"signal dependency {index} with a param '{name}'")

    def foreach_params(self, foreach: str, step_id: str, name: str) -> Any:
        """A param of a step in each iteration, in their order."""
        loop = self._run.steps.get(foreach)
        if loop is None:
            raise missing(f"foreach '{foreach}'")
        rows = self._iterations(foreach, step_id)
        values = {row.instance_id: _value(row.params, name) for row in rows}
        return [values[number] for number in sorted(values) if values[number] is not None]

    def subworkflow_param(self, subworkflow: str, step_id: str, name: str) -> Any:
        """A param of a step of a subworkflow."""
        started = self._run.steps.get(subworkflow)
        child = {} if started is None else started.artifacts.get("maestro_subworkflow", {})
        rows = self._params_of(child.get("subworkflow_id", ""), step_id, child.get("subworkflow_instance_id"))
        found = _value(rows[-1].params, name) if rows else None
        if found is None:
            raise missing(f"subworkflow '{subworkflow}' with a step '{step_id}' and its param '{name}'")
        return found

    def next_unique_id(self) -> int:
        """A number that was never given before."""
        import uuid

        return uuid.uuid4().int >> 65

    @property
    def _connection(self) -> Connection:
        # What this transaction has changed in memory must be seen by what it reads.
        self._batch.flush()
        return self._batch.connection

    def _iterations(self, loop: str, step_id: str) -> Any:
        return self._params_of(self._run.inline_id("foreach", loop), step_id, None)

    def _params_of(self, workflow_id: str, step_id: str, instance_id: int | None) -> Any:
        query = (
            select(runs.c.instance_id, steps.c.params)
            .join(steps, steps.c.run == runs.c.id)
            .where(runs.c.workflow_id == workflow_id, runs.c.latest, steps.c.step_id == step_id)
            .order_by(runs.c.instance_id, steps.c.attempt_id)
        )
        if instance_id is not None:
            query = query.where(runs.c.instance_id == instance_id)
        return self._connection.execute(query).all()

    def _outer_param(self, step_id: str, name: str) -> Any:
        """A param of a step of a run around this one: an iteration sees what was done before its loop."""
        around = self._run.parent_run if self._run.inline else None
        while around is not None:
            row = self._connection.execute(
                select(steps)
                .where(steps.c.run == around, steps.c.step_id == step_id)
                .order_by(steps.c.attempt_id.desc())
                .limit(1)
            ).first()
            if row is not None:
                values = {key: item.get("evaluated_result") for key, item in json.loads(row.params).items()}
                return _of_step(step_id, name, StepStatus(row.status), row.ended_at, values)
            parent = self._connection.execute(
                select(runs.c.parent_run, runs.c.inline).where(runs.c.id == around)
            ).one()
            around = parent.parent_run if parent.inline else None
        raise missing(f"step '{step_id}' that has run before")


def _of_step(
    step_id: str, name: str, status: StepStatus, ended_at: int | None, values: Mapping[str, Any]
) -> Any:
    if name == STATUS_FIELD:
        return status.value
    if not status.is_over:
        raise missing(f"finished step '{step_id}': it is {status.value}")
    if name == END_TIME_FIELD:
        return ended_at
    if name not in values:
        raise missing(f"param '{name}' of step '{step_id}'")
    return values[name]


def _value(params: str, name: str) -> Any:
    found = json.loads(params).get(name)
    return None if found is None else found.get("evaluated_result")


def missing(what: str) -> CalveError:
    """The error for a reference that leads nowhere."""
    return NotFoundError(
        "PARAM_REFERENCE", f"there is no {what} here", "check the name, and that it has run before"
    )
