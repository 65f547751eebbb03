"""Signals that a step waits for, and signals that it sends."""

from __future__ import annotations

from typing import Any

from calve.engine.core import step_params
from calve.engine.core.batch import Batch
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.signals import matching, sending
from calve.engine.signals.model import Condition
from calve.importing import one_at_a_time
from calve.settings import Settings
from calve.steps.contract import SignalToSend
from calve.steps.table_signals import VALID_THROUGH, to_epoch_ms, valid_through_signal
from calve.workflow.definition.signals import Operator, TableDependency
from calve.workflow.params import Evaluation, Scope
from calve.workflow.params.model import ParamDefinition, ParamType

PENDING, MATCHED, SKIPPED = "PENDING", "MATCHED", "SKIPPED"


def prepare_dependencies(
    settings: Settings, batch: Batch, run: RunState, step: StepState
) -> list[dict[str, Any]]:
    """The signals that a step waits for, with what their params have to be."""
    made = []
    for dependency in step.definition.signal_dependencies:
        if isinstance(dependency, TableDependency):
            made.append(_valid_through(settings, batch, run, step, dependency))
            continue
        conditions = [
            {
                "param": name,
                "operator": match.operator.value,
                "value": _lone_value(batch, run, step, match.param),
            }
            for name, match in dependency.match_params.items()
        ]
        made.append({"name": dependency.name, "conditions": conditions, "status": PENDING})
    return made


def _valid_through(
    settings: Settings, batch: Batch, run: RunState, step: StepState, dependency: TableDependency
) -> dict[str, Any]:
    """A table that has to be complete up to some time: a wait for the signal that says so."""
    # Only who waits for tables needs what reads them.
    with one_at_a_time():
        from calve.lake.catalogs import Lake

    written = ParamDefinition(name="table", type=ParamType.STRING, value=dependency.table)
    table = Lake(settings).resolve(_lone_value(batch, run, step, written))
    moment = to_epoch_ms(_lone_value(batch, run, step, dependency.valid_through))
    condition = {"param": VALID_THROUGH, "operator": Operator.GREATER_OR_EQUAL.value, "value": moment}
    return {"name": valid_through_signal(table), "conditions": [condition], "status": PENDING}


def _lone_value(batch: Batch, run: RunState, step: StepState, param: ParamDefinition) -> Any:
    evaluation = step_params.evaluation_of(batch, run, step, {param.name: param})
    return evaluation.evaluate(param.name).value


def match_dependencies(batch: Batch, step: StepState) -> list[str]:
    """Look for the signals that are still missing; the names of those that did not come."""
    waiting = []
    for dependency in step.dependencies:
        if dependency["status"] != PENDING:
            continue
        conditions = [_condition(**stated) for stated in dependency["conditions"]]
        found = matching.match_dependency(batch.connection, dependency["name"], conditions)
        if found is None:
            waiting.append(dependency["name"])
            continue
        signal = sending.get(batch.connection, dependency["name"], found)
        dependency.update(status=MATCHED, signal_id=found, signal_params=dict(signal.params))
    return waiting


def _condition(param: str, operator: str, value: str | int) -> Condition:
    return Condition(param, Operator(operator), value)


def bypass_dependencies(step: StepState) -> None:
    """Wait no longer for what is missing."""
    for dependency in step.dependencies:
        if dependency["status"] == PENDING:
            dependency["status"] = SKIPPED


def send_outputs(batch: Batch, run: RunState, step: StepState, dynamic: tuple[SignalToSend, ...]) -> None:
    """Send the signals that a step promises, and those that its job asked for."""
    source = {
        "workflow_id": run.workflow_id,
        "workflow_instance_id": run.instance_id,
        "workflow_run_id": run.run_id,
        "step_id": step.id,
        "step_attempt_id": step.attempt_id,
    }
    stated = step.definition.signal_outputs
    evaluation = step_params.evaluated_scope(batch, run, step) if stated else None
    if stated or dynamic:
        batch.before_foreign_writes()
        batch.ask_for_sweep()
    ready = [*(_evaluated(output, evaluation, step) for output in stated if evaluation is not None), *dynamic]
    for number, signal in enumerate(ready):
        sending.send(
            batch.connection,
            signal.name,
            dict(signal.params),
            dict(signal.payload),
            source,
            f"{step.uuid}:{number}",
            batch.now_ms,
        )


def _evaluated(output: Any, evaluation: Evaluation, step: StepState) -> SignalToSend:
    # The params of the step lie around those of the signal, so that one may take over the other's value.
    around = Scope(step.id, {**evaluation.scope.workflow_params, **step.values})
    params, payload = (
        {name: scope.evaluate(name).value for name in stated}
        for stated in (output.params, output.payload)
        for scope in [Evaluation(stated, around, evaluation.resolver, evaluation.limits)]
    )
    return SignalToSend(output.name, params, payload)
