"""while: its steps again and again, as long as the condition holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from calve.engine.core import step_params
from calve.engine.core.batch import Batch
from calve.engine.core.composites.children import ITERATIONS_LIMIT, count_children, launch, stop_children
from calve.engine.core.composites.foreach import LOOP_PARAMS, NEVER_S
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.model.statuses import RunStatus
from calve.state.orchestration import runs, steps
from calve.steps.contract import Ending, Finished, Running
from calve.workflow.definition.steps import WhileStep
from calve.workflow.params import Evaluation, ParamDefinition, evaluate_condition

if TYPE_CHECKING:
    from calve.engine.core.context import Core

ARTIFACT = "maestro_while"


class While:
    """One iteration at a time. A loop param takes the value of the last inner step that defines it."""

    def start(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        """Look at the condition, and begin."""
        step.handle = {"number": 0, "active": 0, "values": dict(step.params[LOOP_PARAMS].value)}
        return self._turn(core, batch, run, step)

    def resume(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        """Go on from the last iteration."""
        handle = _handle(step)
        step.count_anew()
        counts, _ = count_children(batch, run, step)
        live = counts.get(RunStatus.IN_PROGRESS.value, 0) + counts.get(RunStatus.CREATED.value, 0)
        if not handle["active"]:
            return self._turn(core, batch, run, step)
        if live:
            return _running(handle)
        ended = [status for status in counts if status != RunStatus.SUCCEEDED.value]
        status = ended[0] if ended else RunStatus.SUCCEEDED.value
        return self.child_ended(core, batch, run, step, handle["number"], status)

    def child_ended(
        self, core: Core, batch: Batch, run: RunState, step: StepState, instance_id: int, status: str
    ) -> Running | Finished:
        """Take over the values of the iteration, and begin the next."""
        handle = _handle(step)
        handle["active"] = 0
        if status == RunStatus.STOPPED.value:
            return Finished(Ending.STOPPED, artifacts=_artifacts(handle))
        if status != RunStatus.SUCCEEDED.value:
            return Finished.failed(
                Ending.FATAL_ERROR,
                "ITERATIONS_FAILED",
                f"iteration {instance_id} ended as {status}",
                "look at that iteration; a restart runs only what is incomplete",
                artifacts=_artifacts(handle),
            )
        handle["values"] = _next_values(batch, run, step, instance_id)
        return self._turn(core, batch, run, step)

    def stop(self, core: Core, batch: Batch, run: RunState, step: StepState) -> bool:
        """Ask the iteration to end."""
        return stop_children(core, batch, run, step) == 0

    def _turn(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        handle = _handle(step)
        if not _holds(batch, run, step, handle["values"]):
            return Finished.done(artifacts=_artifacts(handle))
        if handle["number"] >= ITERATIONS_LIMIT:
            return Finished.failed(
                Ending.FATAL_ERROR,
                "WHILE_TOO_LONG",
                f"the condition still holds after {ITERATIONS_LIMIT:,} iterations",
                "check that an inner step changes what the condition looks at",
            )
        handle["number"] += 1
        handle["active"] = 1
        launch(core, batch, run, step, handle["number"], handle["values"])
        return _running(handle)


def _handle(step: StepState) -> dict[str, Any]:
    assert step.handle is not None
    return step.handle


def _running(handle: dict[str, Any]) -> Running:
    return Running(handle, progress={"message": f"iteration {handle['number']}"}, poll_after_s=NEVER_S)


def _artifacts(handle: dict[str, Any]) -> dict[str, Any]:
    return {ARTIFACT: {"total_loop_count": handle["number"], "values": handle["values"]}}


def _holds(batch: Batch, run: RunState, step: StepState, values: dict[str, Any]) -> bool:
    assert isinstance(step.definition, WhileStep)
    definitions = {name: ParamDefinition.infer(name, value) for name, value in values.items()}
    scope = step_params.evaluated_scope(batch, run, step)
    evaluation = Evaluation(
        {**scope.definitions, **definitions}, scope.scope, scope.resolver, scope.limits, scope.host
    )
    evaluation.done.update({name: item for name, item in scope.done.items() if name not in values})
    return evaluate_condition(step.definition.condition, evaluation)


def _next_values(batch: Batch, run: RunState, step: StepState, number: int) -> dict[str, Any]:
    """Each loop param as the last inner step that defines it left it."""
    assert isinstance(step.definition, WhileStep)
    batch.flush()
    rows = batch.connection.execute(
        select(steps.c.step_id, steps.c.params)
        .join(runs, runs.c.id == steps.c.run)
        .where(
            runs.c.workflow_id == run.inline_id(step.definition.kind, step.id),
            runs.c.instance_id == number,
            runs.c.latest,
        )
        .order_by(steps.c.attempt_id)
    ).all()
    params = {row.step_id: json.loads(row.params) for row in rows}
    values = dict(_handle(step)["values"])
    for inner in step.definition.steps:
        for name in values.keys() & params.get(inner.id, {}).keys() & inner.params.keys():
            values[name] = params[inner.id][name].get("evaluated_result", values[name])
    return values
