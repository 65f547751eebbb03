"""The way of a run: which steps begin, and when it is over."""

from __future__ import annotations

from calve.engine.actions.asking import tell_parent
from calve.engine.core import attempt, conclude
from calve.engine.core.batch import Batch
from calve.engine.core.context import Core
from calve.engine.core.messages import ChildEnded, RetryDue, RunDue
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.workflow.definition.run_strategy import Rule
from calve.workflow.definition.steps import NO_CONDITION, FailureMode

S = StepStatus
_STEP_END = {
    RunStatus.STOPPED: S.STOPPED,
    RunStatus.FAILED: S.FATALLY_FAILED,
    RunStatus.TIMED_OUT: S.TIMED_OUT,
}


def go_on(core: Core, batch: Batch, run: RunState) -> None:
    """Do all that can be done for a run now. May be called at any time, any number of times."""
    if run.status.is_terminal:
        return
    if run.ending is None:
        # Each step comes after its predecessors, so what ends at once lets its successors begin in one pass.
        for step_id in run.graph.steps:
            _look_at(core, batch, run, step_id)
    else:
        for step in run.active_steps:
            conclude.end(core, batch, run, step, _STEP_END[run.ending])
            if not step.status.is_over:
                attempt.advance(core, batch, run, step)
    if not run.active_steps:
        _finish(core, batch, run)


def end_run(core: Core, batch: Batch, run: RunState, status: RunStatus) -> None:
    """Lead a run to a status from outside."""
    if run.status.is_terminal or run.ending is not None:
        return
    run.ending = status
    batch.touch_run(run)
    go_on(core, batch, run)


def watch_deadline(core: Core, run: RunState) -> None:
    """Be woken when the time of a run is over."""
    if run.deadline_at is not None:
        core.timers.at(run.deadline_at, RunDue(run.id))


def next_attempt(batch: Batch, run: RunState, step: StepState) -> StepState:
    """A further attempt of a step, which takes the place of the one before."""
    made = StepState.new(run.id, step.definition, step.attempt_id + 1, batch.now_ms)
    made.retries = dict(step.retries)
    run.steps[step.id] = made
    batch.touch_step(made)
    return made


def retry(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    """The wait after a failed attempt is over."""
    made = next_attempt(batch, run, step)
    kind = {S.USER_FAILED: "error", S.PLATFORM_FAILED: "platform", S.TIMEOUT_FAILED: "timeout"}[step.status]
    made.retries[kind] += 1
    attempt.advance(core, batch, run, made)


def _look_at(core: Core, batch: Batch, run: RunState, step_id: str) -> None:
    step = run.steps.get(step_id)
    if step is None:
        before = run.graph.predecessors(step_id)
        if all(_is_complete(run, name) for name in before) and not _has_failed_at_once(run):
            _begin(core, batch, run, step_id)
    elif step.status.is_retryable:
        if not step.driven and step.wake_at is not None:
            step.driven = True
            core.timers.at(step.wake_at, RetryDue(step.key))
    elif not step.status.is_over and step.key not in core.waiting_permits:
        attempt.advance(core, batch, run, step)


def _has_failed_at_once(run: RunState) -> bool:
    return run.graph.may_fail_at_once and any(
        step.status is S.FATALLY_FAILED and step.definition.failure_mode is FailureMode.FAIL_IMMEDIATELY
        for step in run.steps.values()
    )


def _is_complete(run: RunState, step_id: str) -> bool:
    step = run.steps.get(step_id)
    return step is not None and step.status.is_complete


def _begin(core: Core, batch: Batch, run: RunState, step_id: str) -> None:
    step = StepState.new(run.id, run.graph.steps[step_id], 1, batch.now_ms)
    run.steps[step_id] = step
    batch.touch_step(step)
    before = run.graph.predecessors(step_id)
    if run.skip_rest or step_id in run.request.get("skip", ()):
        conclude.guess_edges(batch, run, step)
        step.move(S.SKIPPED, batch.now_ms)
    elif before and not any(_edge_holds(run, source, step_id) for source in before):
        step.move(S.UNSATISFIED, batch.now_ms)
    else:
        attempt.advance(core, batch, run, step)


def _edge_holds(run: RunState, source: str, target: str) -> bool:
    step = run.steps[source]
    if step.status is S.UNSATISFIED:
        return False
    if run.graph.edges(source)[target] == NO_CONDITION:
        return True
    return bool(step.artifacts.get(conclude.EDGES, {}).get(target, False))


def _finish(core: Core, batch: Batch, run: RunState) -> None:
    run.move(run.outcome(), batch.now_ms)
    strategy = run.properties.run_strategy
    strict = strategy is not None and strategy.rule is Rule.STRICT_SEQUENTIAL
    run.blocking = strict and not run.inline and run.status is RunStatus.FAILED
    batch.touch_run(run)
    batch.record("run", run, {"status": run.status.value})
    if not run.inline:
        batch.queues[run.workflow_id] = None
        batch.after_commit(core.note_run_end)
    _tell_parent(core, batch, run)
    batch.after_commit(lambda: core.drop(run.id))


def _tell_parent(core: Core, batch: Batch, run: RunState) -> None:
    if run.parent_run is None or run.parent_step is None:
        return
    parent = core.runs.get(run.parent_run)
    if parent is not None:
        tally = parent.steps[run.parent_step].tally
        batch.todo.append(ChildEnded(parent.id, run.parent_step, run.instance_id, run.status.value, tally))
        return
    tell_parent(batch.connection, run.parent_run, run.parent_step, batch.now_ms)
    batch.ask_for_sweep()
