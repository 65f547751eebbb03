"""Iterations: runs of the steps inside a loop, made and ended by the step around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, text, update

from calve.engine.actions.asking import ENGINE, ask_to_end
from calve.engine.core.batch import Batch
from calve.engine.core.graph import graph_of
from calve.engine.core.messages import GoOn
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.model.requests import RestartPolicy
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.outbox import dump
from calve.state.orchestration import runs
from calve.workflow.definition.steps import LoopStep
from calve.workflow.params import EvaluatedParam, ParamDefinition, ParamSource, ParamType
from calve.workflow.params.evaluated import escaped
from calve.workflow.params.values import infer_type

if TYPE_CHECKING:
    from calve.engine.core.context import Core

ITERATIONS_LIMIT = 25_000
LOOP_INDEX = "loop_index"


def earlier_children(
    core: Core, batch: Batch, run: RunState, step: StepState
) -> Mapping[int, tuple[int, str]]:
    """What iterations came to in earlier runs or attempts: number → (run_id, status)."""
    if step.key not in core.earlier_children:
        query = select(runs.c.instance_id, runs.c.run_id, runs.c.status).where(
            runs.c.workflow_id == run.inline_id(step.definition.kind, step.id),
            runs.c.latest,
            ~runs.c.uuid.startswith(f"{step.uuid}:"),
        )
        rows = batch.connection.execute(query).all() if run.run_id > 1 or step.attempt_id > 1 else []
        core.earlier_children[step.key] = {row.instance_id: (row.run_id, row.status) for row in rows}
    return core.earlier_children[step.key]


def keeps_earlier(run: RunState) -> bool:
    """True if iterations that succeeded in an earlier run are not run again."""
    return run.request.get("policy") == RestartPolicy.RESTART_FROM_INCOMPLETE.value


def launch(
    core: Core, batch: Batch, run: RunState, step: StepState, number: int, values: Mapping[str, Any]
) -> None:
    """Begin an iteration; numbers count from 1."""
    loop = step.definition
    assert isinstance(loop, LoopStep)
    workflow_id = run.inline_id(loop.kind, step.id)
    before = earlier_children(core, batch, run, step).get(number)
    run_id = 1 if before is None else before[0] + 1
    if before is not None:
        batch.connection.execute(
            update(runs)
            .where(runs.c.workflow_id == workflow_id, runs.c.instance_id == number, runs.c.latest)
            .values(latest=False)
        )
    child = RunState(
        id=_reserve_id(batch),
        workflow_id=workflow_id,
        instance_id=number,
        run_id=run_id,
        version=run.version,
        uuid=f"{step.uuid}:{number}",
        definition=run.definition,
        graph=graph_of(loop.steps),
        properties=run.properties,
        status=RunStatus.CREATED,
        initiator={"type": loop.kind.upper(), "parent": {"run": run.id, "step_id": step.id}},
        request={
            "policy": run.request.get("policy", "START_FRESH_NEW_RUN"),
            "loop": {"workflow_id": run.owner_workflow_id, "step_id": step.id},
            "step_params": run.request.get("step_params", {}),
            **({} if run.at_once is None else {"at_once": run.at_once}),
        },
        params_text=_scalars({**values, LOOP_INDEX: number - 1}, loop.kind, batch.now_ms),
        outer_values=run.values,
        created_at=batch.now_ms,
        depth=run.depth + 1,
        inline=True,
        paused=run.paused,
        parent_run=run.id,
        parent_step=step.id,
        root_run=run.root,
        stored=False,
        owned=core.may_take_more(),
    )
    child.move(RunStatus.IN_PROGRESS, batch.now_ms)
    if before is not None and keeps_earlier(run):
        carry_complete_steps(batch, child, before[0])
    batch.touch_run(child)
    if child.owned:
        core.runs[child.id] = child
        batch.todo.append(GoOn(child.id))
    else:
        batch.ask_for_sweep()


def carry_complete_steps(batch: Batch, run: RunState, earlier_run_id: int) -> None:
    """Take over from an earlier run of the instance the steps that are complete."""
    from calve.engine.core.carrying import carried_steps

    for step in carried_steps(batch.connection, run, earlier_run_id):
        run.steps[step.id] = step
        batch.touch_step(step)


def stop_children(core: Core, batch: Batch, run: RunState, step: StepState) -> int:
    """Ask all live runs of a step to end; how many there are."""
    batch.flush()
    live = batch.connection.execute(
        select(runs).where(
            runs.c.parent_run == run.id,
            runs.c.parent_step == step.id,
            runs.c.status.in_([RunStatus.CREATED.value, RunStatus.IN_PROGRESS.value]),
        )
    ).all()
    kill = step.ending is StepStatus.FATALLY_FAILED
    for row in live:
        # The end of each of them comes back as a command, also of those that were in a queue.
        ask_to_end(batch.connection, row, kill, ENGINE, batch.now_ms)
    batch.ask_for_sweep()
    return len(live)


def count_children(batch: Batch, run: RunState, step: StepState) -> tuple[dict[str, int], int | None]:
    """How many iterations of this attempt stand where, and the first that failed, by the database."""
    batch.flush()
    own = (
        runs.c.workflow_id == run.inline_id(step.definition.kind, step.id),
        runs.c.uuid.startswith(f"{step.uuid}:"),
    )
    rows = batch.connection.execute(
        select(runs.c.status, func.count(), func.min(runs.c.instance_id)).where(*own).group_by(runs.c.status)
    ).all()
    well = {RunStatus.CREATED.value, RunStatus.IN_PROGRESS.value, RunStatus.SUCCEEDED.value}
    failed = [first for status, _, first in rows if status not in well]
    return {status: count for status, count, _ in rows}, min(failed, default=None)


def _scalars(values: Mapping[str, Any], kind: str, now_ms: int) -> str:
    source = ParamSource.FOREACH if kind == "foreach" else ParamSource.WHILE
    return dump({name: _literal(name, value, source, now_ms).to_json() for name, value in values.items()})


def _literal(name: str, value: Any, source: ParamSource, now_ms: int) -> EvaluatedParam:
    type_: ParamType = infer_type(value)
    definition = ParamDefinition(name=name, type=type_, value=escaped(value), source=source)
    return EvaluatedParam(definition, value, now_ms)


def _reserve_id(batch: Batch) -> int:
    """A key for a run that is written later in this transaction."""
    if not batch.reserved_ids:
        if batch.connection.dialect.name == "postgresql":
            query = text("SELECT nextval('runs_id_seq') FROM generate_series(1, 50)")
            batch.reserved_ids.extend(batch.connection.execute(query).scalars())
        else:
            # The writer's lock is held: nobody else takes a key until this transaction ends.
            batch.flush()
            last = batch.connection.execute(select(func.max(runs.c.id))).scalar() or 0
            batch.reserved_ids.extend(range(last + 1, last + 51))
    return batch.reserved_ids.popleft()
