"""subworkflow: another workflow as a step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from calve.engine.actions.restart import restart_run
from calve.engine.actions.start import Parent, start_instance
from calve.engine.core.batch import Batch
from calve.engine.core.composites.children import keeps_earlier, stop_children
from calve.engine.core.composites.foreach import NEVER_S
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.model.requests import InitiatorType, RestartRequest, Started, StartRequest
from calve.engine.model.statuses import RunStatus
from calve.state.orchestration import runs
from calve.steps.contract import Ending, Finished, Running
from calve.workflow.definition.steps import SubworkflowStep
from calve.workflow.params import EvaluatedParam, ParamDefinition, ParamSource
from calve.workflow.params.defaults import STEP_DEFAULTS, SUBWORKFLOW_DEFAULTS, WORKFLOW_DEFAULTS
from calve.workflow.params.evaluated import escaped

if TYPE_CHECKING:
    from calve.engine.core.context import Core

ARTIFACT = "maestro_subworkflow"
DEPTH_LIMIT = 10
_NOT_PASSED = frozenset({ParamSource.SYSTEM_DEFAULT, ParamSource.SYSTEM, ParamSource.SYSTEM_INJECTED})
_OWN = frozenset({*STEP_DEFAULTS, *SUBWORKFLOW_DEFAULTS})


class Subworkflow:
    """Starts an instance of another workflow, and waits for it unless `sync` is false."""

    def start(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        """Put the instance into the queue of its workflow."""
        if run.depth >= DEPTH_LIMIT:
            return Finished.failed(
                Ending.FATAL_ERROR,
                "SUBWORKFLOW_TOO_DEEP",
                f"workflows are nested more than {DEPTH_LIMIT} deep",
                "check that no workflow starts itself",
            )
        batch.before_foreign_writes()
        started = self._restart(batch, run, step) or self._begin(batch, run, step)
        batch.ask_for_sweep()
        step.handle = {
            "run": started.run,
            "workflow_id": started.workflow_id,
            "instance_id": started.instance_id,
        }
        step.artifacts[ARTIFACT] = {
            "subworkflow_id": started.workflow_id,
            "subworkflow_instance_id": started.instance_id,
            "subworkflow_run_id": started.run_id,
            "subworkflow_uuid": started.uuid,
        }
        assert isinstance(step.definition, SubworkflowStep)
        if step.definition.sync is False:
            return Finished.done()
        return self.resume(core, batch, run, step)

    def resume(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        """Wait; its end comes as a message. An end that came before is noticed here."""
        assert step.handle is not None
        status = batch.connection.execute(
            select(runs.c.status).where(runs.c.id == step.handle["run"])
        ).scalar()
        if status is not None and RunStatus(status).is_terminal:
            return _outcome(RunStatus(status), step.handle)
        message = f"{step.handle['workflow_id']} instance {step.handle['instance_id']}"
        return Running(step.handle, progress={"message": message}, poll_after_s=NEVER_S)

    def child_ended(
        self, core: Core, batch: Batch, run: RunState, step: StepState, instance_id: int, status: str
    ) -> Running | Finished:
        """The instance is over."""
        assert step.handle is not None
        return _outcome(RunStatus(status), step.handle)

    def stop(self, core: Core, batch: Batch, run: RunState, step: StepState) -> bool:
        """Ask the instance to end."""
        return stop_children(core, batch, run, step) == 0

    def _begin(self, batch: Batch, run: RunState, step: StepState) -> Started:
        request = StartRequest(
            workflow_id=str(step.params["subworkflow_id"].value),
            version=step.params["subworkflow_version"].value,
            params=_passed(run, step),
            initiator={"type": InitiatorType.SUBWORKFLOW.value, "timezone": run.initiator.get("timezone")},
            request_id=step.uuid,
            author=str(run.initiator.get("caller", "")),
            source=ParamSource.SUBWORKFLOW,
        )
        return start_instance(batch.connection, request, batch.now_ms, _parent(run, step))

    def _restart(self, batch: Batch, run: RunState, step: StepState) -> Started | None:
        """A further run of the instance that an earlier run of the parent started, if that failed."""
        if run.run_id == 1 or not keeps_earlier(run):
            return None
        earlier = select(runs.c.id).where(
            runs.c.workflow_id == run.workflow_id, runs.c.instance_id == run.instance_id, runs.c.id != run.id
        )
        row = batch.connection.execute(
            select(runs)
            .where(runs.c.parent_run.in_(earlier), runs.c.parent_step == step.id, runs.c.latest)
            .order_by(runs.c.id.desc())
            .limit(1)
        ).first()
        if row is None or not RunStatus(row.status).is_terminal or row.status == RunStatus.SUCCEEDED.value:
            return None
        request = RestartRequest(
            workflow_id=row.workflow_id, instance_id=row.instance_id, request_id=step.uuid
        )
        return restart_run(batch.connection, row, request, batch.now_ms, _parent(run, step))


def _parent(run: RunState, step: StepState) -> Parent:
    return Parent(run.id, step.id, run.root, run.depth + 1, run.at_once)


def _passed(run: RunState, step: StepState) -> dict[str, ParamDefinition]:
    """The params that go along: those of the step, and below them those of the workflow."""
    assert isinstance(step.definition, SubworkflowStep)
    given = {name: _plain(param) for name, param in step.params.items() if name not in _OWN}
    if step.definition.explicit_params:
        return given
    outer = {name: value for name, value in run.outer_values.items() if name not in WORKFLOW_DEFAULTS}
    own = {name: param for name, param in run.params.items() if param.definition.source not in _NOT_PASSED}
    return {
        **{name: ParamDefinition.infer(name, escaped(value)) for name, value in outer.items()},
        **{name: _plain(param) for name, param in own.items()},
        **given,
    }


def _plain(param: EvaluatedParam) -> ParamDefinition:
    """The value alone: the subworkflow has its own say over modes."""
    free = replace(param.definition, mode=None, source=None, validator=None)
    return replace(param, definition=free).to_definition()


def _outcome(status: RunStatus, handle: dict[str, Any]) -> Finished:
    if status is RunStatus.SUCCEEDED:
        return Finished.done()
    if status is RunStatus.STOPPED:
        return Finished(Ending.STOPPED)
    where = f"{handle['workflow_id']} instance {handle['instance_id']}"
    return Finished.failed(
        Ending.FATAL_ERROR, "SUBWORKFLOW_FAILED", f"{where} ended as {status.value}", f"look at {where}"
    )
