"""How an attempt ends: outputs, signals and edges of a success; retries and failure modes of a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calve.engine.core import step_params
from calve.engine.core.batch import Batch
from calve.engine.core.composites import composite_of
from calve.engine.core.context import Core, context_of, type_of
from calve.engine.core.messages import GoOn, RetryDue, TryPermits
from calve.engine.core.permits import limits_of
from calve.engine.core.run_state import SKIP_REST, RunState
from calve.engine.core.step_state import StepState
from calve.engine.core.waiting import send_outputs
from calve.engine.model.statuses import StepStatus
from calve.errors import CalveError
from calve.steps.contract import Ending, Finished
from calve.workflow.definition.steps import FailureMode, TypedStep
from calve.workflow.params import EvaluatedParam, ParamDefinition, ParamSource, ParamType, merge_outputs
from calve.workflow.params.values import coerce, infer_type

S = StepStatus
EDGES = "transition"
_RETRY_KIND = {Ending.USER_ERROR: "error", Ending.PLATFORM_ERROR: "platform", Ending.TIMED_OUT: "timeout"}
_FAILED_AS = {"error": S.USER_FAILED, "platform": S.PLATFORM_FAILED, "timeout": S.TIMEOUT_FAILED}


def conclude(core: Core, batch: Batch, run: RunState, step: StepState, news: Finished) -> None:
    """The work of an attempt is over."""
    step.artifacts.update(news.artifacts)
    if news.ending in (Ending.DONE, Ending.SKIP_REST):
        _succeed(core, batch, run, step, news)
        return
    step.error = None if news.error is None else dict(news.error.to_json())
    if step.ending is not None:
        settle(core, batch, run, step)
    elif news.ending is Ending.STOPPED:
        _move(core, batch, run, step, S.STOPPED)
    elif news.ending is Ending.FATAL_ERROR:
        _fail_for_good(core, batch, run, step, S.FATALLY_FAILED)
    else:
        _fail(core, batch, run, step, _RETRY_KIND[news.ending])


def settle(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    """The work was ended because somebody, or a deadline, asked for it."""
    ending = step.ending
    assert ending is not None
    step.ending = None
    if ending is S.TIMED_OUT and run.ending is None:
        _fail(core, batch, run, step, "timeout")
    elif ending is S.FATALLY_FAILED:
        _fail_for_good(core, batch, run, step, ending)
    else:
        if ending is S.SKIPPED:
            guess_edges(batch, run, step)
        _move(core, batch, run, step, ending)


def guess_edges(batch: Batch, run: RunState, step: StepState) -> None:
    """The edges of a step that is skipped: a condition on what it never worked out does not hold."""
    try:
        _keep_edges(batch, run, step)
    except CalveError:
        step.artifacts.pop(EDGES, None)


def end(core: Core, batch: Batch, run: RunState, step: StepState, target: StepStatus) -> None:
    """Lead an attempt to a status from outside: at once if nothing is at work, else when that has ended."""
    if step.status.is_over and target is not S.SKIPPED:
        return
    is_at_work = step.status in (S.STARTING, S.RUNNING)
    if is_at_work and step.ending is not None:
        return
    step.ending = target
    batch.touch_step(step)
    if not is_at_work:
        settle(core, batch, run, step)
        return
    composite = composite_of(step)
    if composite is not None:
        if composite.stop(core, batch, run, step):
            settle(core, batch, run, step)
    elif type_of(step).inline:
        settle(core, batch, run, step)
    else:
        cancel(core, batch, run, step)


def cancel(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    """Have the executor end an attempt, once that it is to end is durable."""
    type_, context, handle, key = type_of(step), context_of(core, run, step), step.handle, step.key
    batch.after_commit(lambda: core.executor.cancel(key, type_, context, handle))


def fail_internally(core: Core, batch: Batch, run: RunState, step: StepState, error: dict[str, Any]) -> None:
    """Params, edges or signals of a step cannot be worked out: no retry can help."""
    step.error = error
    _move(core, batch, run, step, S.INTERNALLY_FAILED)


def _succeed(core: Core, batch: Batch, run: RunState, step: StepState, news: Finished) -> None:
    step.move(S.FINISHING, batch.now_ms)
    try:
        step.params = with_outputs(step.params, news.outputs, batch.now_ms, _own_outputs(step))
        _keep_edges(batch, run, step)
        send_outputs(batch, run, step, news.signals)
    except CalveError as error:
        fail_internally(core, batch, run, step, error.to_json())
        return
    step.error = None
    step.ending = None
    if news.ending is Ending.SKIP_REST:
        run.skip_rest = step.artifacts[SKIP_REST] = True
    _move(core, batch, run, step, S.SUCCEEDED)


def _own_outputs(step: StepState) -> frozenset[str]:
    """The params that the type of a step gives by itself."""
    if not isinstance(step.definition, TypedStep):
        return frozenset()
    names: frozenset[str] = getattr(type_of(step), "outputs", frozenset())
    return names


def with_outputs(
    params: Mapping[str, EvaluatedParam],
    outputs: Mapping[str, Any],
    now_ms: int,
    own: frozenset[str] = frozenset(),
) -> dict[str, EvaluatedParam]:
    """The params of a step after its job gave values for some of them; `own` need not be declared."""
    given = {name: _typed(name, value, now_ms) for name, value in outputs.items() if name in own}
    made = {}
    for name, value in outputs.items():
        if name in given:
            continue
        declared = params.get(name)
        if declared is None:
            made[name] = EvaluatedParam.from_json(name, {"type": "STRING", "value": str(value)})
            continue
        # Without a mode of its own, so that the one that the step declares has the say.
        definition = replace(declared.definition, mode=None)
        made[name] = EvaluatedParam(definition, coerce(name, definition.type, value), now_ms)
    return {**merge_outputs(params, made), **given}


def _typed(name: str, value: Any, now_ms: int) -> EvaluatedParam:
    type_ = infer_type(value)
    if value == {}:
        type_ = ParamType.STRING_MAP
    definition = ParamDefinition(name=name, type=type_, value=value, source=ParamSource.OUTPUT_PARAMETER)
    return EvaluatedParam(definition, coerce(name, type_, value), now_ms)


def _keep_edges(batch: Batch, run: RunState, step: StepState) -> None:
    edges = step_params.evaluate_edges(batch, run, step)
    if edges:
        step.artifacts[EDGES] = edges


def _fail(core: Core, batch: Batch, run: RunState, step: StepState, kind: str) -> None:
    try:
        rule = getattr(step_params.retry_rules(batch, run, step), kind)
    except CalveError as error:
        fail_internally(core, batch, run, step, error.to_json())
        return
    tried = step.retries[kind]
    if run.ending is None and tried < rule.limit:
        step.wake_at = batch.now_ms + rule.delay_s(tried) * 1000
        core.timers.at(step.wake_at, RetryDue(step.key))
        _move(core, batch, run, step, _FAILED_AS[kind])
    elif kind == "timeout":
        _move(core, batch, run, step, S.TIMED_OUT)
    else:
        _fail_for_good(core, batch, run, step, S.FATALLY_FAILED)


def _fail_for_good(core: Core, batch: Batch, run: RunState, step: StepState, status: StepStatus) -> None:
    mode = step.definition.failure_mode
    if mode is FailureMode.IGNORE_FAILURE and run.ending is None:
        try:
            _keep_edges(batch, run, step)
        except CalveError as error:
            fail_internally(core, batch, run, step, error.to_json())
            return
        status = S.COMPLETED_WITH_ERROR
    _move(core, batch, run, step, status)
    if mode is FailureMode.FAIL_IMMEDIATELY:
        for other in run.active_steps:
            end(core, batch, run, other, S.STOPPED)


def _move(core: Core, batch: Batch, run: RunState, step: StepState, status: StepStatus) -> None:
    step.move(status, batch.now_ms)
    batch.touch_step(step)
    batch.todo.append(GoOn(run.id))
    if step.started_at is not None:
        _free_permits(core, batch, run, step)


def _free_permits(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    # What was never written never held a permit beyond this transaction.
    if composite_of(step) is not None or step.stored is None:
        return
    batch.give_back_permits(step)
    if not core.waiting_permits:
        return
    for tag in limits_of(batch, run, step):
        key = core.waiting_permits.first(tag)
        if key is not None:
            # Only once they are given back, which is when this transaction is over.
            batch.after_commit(lambda key=key: core.timers.after(0, TryPermits(key)))  # type: ignore[misc]
