"""The way of an attempt, from CREATED until its work begins: each status has one function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from calve.engine.catalog import breakpoints
from calve.engine.core import conclude, step_params
from calve.engine.core.batch import Batch
from calve.engine.core.composites import composite_of
from calve.engine.core.context import Core, context_of, type_of, type_params
from calve.engine.core.executor import run_inline
from calve.engine.core.messages import LookAtPermits, PollInline, StepDue
from calve.engine.core.permits import try_permits
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.core.waiting import match_dependencies, prepare_dependencies
from calve.engine.model.statuses import StepStatus
from calve.errors import CalveError
from calve.steps.contract import Finished, Running

#: A permit that an engine elsewhere gives back is noticed after so long at the latest.
PERMIT_LOOK_S = 2.0

S = StepStatus


def advance(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    """Take an attempt as far as it goes by itself."""
    while (handler := _HANDLERS.get(step.status)) is not None:
        before = step.status
        with failing_internally(core, batch, run, step):
            handler(core, batch, run, step)
        if step.status is before:
            return
        batch.touch_step(step)


@contextmanager
def failing_internally(core: Core, batch: Batch, run: RunState, step: StepState) -> Iterator[None]:
    """Whatever cannot be worked out for an attempt fails it; no retry can help."""
    try:
        yield
    except CalveError as error:
        conclude.fail_internally(core, batch, run, step, error.to_json())


def _created(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    step.move(S.INITIALIZED, batch.now_ms)


def _initialized(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    step.dependencies = prepare_dependencies(core.settings, batch, run, step)
    step.move(S.PAUSED if _is_held(batch, run, step) else S.WAITING_FOR_SIGNALS, batch.now_ms)


def _paused(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    if not _is_held(batch, run, step):
        step.move(S.WAITING_FOR_SIGNALS, batch.now_ms)


def _is_held(batch: Batch, run: RunState, step: StepState) -> bool:
    if run.paused:
        return True
    if step.artifacts.get("resumed") or not batch.has_breakpoints(run.owner_workflow_id):
        return False
    return breakpoints.matching(
        batch.connection,
        run.owner_workflow_id,
        step.id,
        run.version,
        run.instance_id,
        run.run_id,
        step.attempt_id,
    )


def _waiting_for_signals(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    waiting = match_dependencies(batch, step)
    for name in waiting:
        core.waiting_signals.setdefault(name, set()).add(step.key)
    if not waiting:
        step.move(S.EVALUATING_PARAMS, batch.now_ms)
    else:
        batch.touch_step(step)


def _evaluating_params(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    definitions = step_params.merge_step_params(run, step, type_params(batch.connection, run, step))
    step.params = step_params.evaluate_step(batch, run, step, definitions)
    step.move(S.WAITING_FOR_PERMITS, batch.now_ms)


def _waiting_for_permits(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    # Worked out before anything is taken: what is wrong with it must not hold a permit.
    timeout = step_params.timeout_of(batch, run, step)
    composite = composite_of(step)
    if composite is not None:
        _start(batch, step, timeout)
        take_news(core, batch, run, step, composite.start(core, batch, run, step))
        return
    type_ = type_of(step)
    news = run_inline(type_.start(context_of(core, run, step))) if type_.inline else None
    # Inline work that is done at once never holds a permit beyond this transaction.
    if not isinstance(news, Finished):
        full = try_permits(batch, run, step)
        if full is not None:
            core.waiting_permits.add(full, step.key)
            plan_permits(core)
            return
        core.waiting_permits.remove(step.key)
    _start(batch, step, timeout)
    if news is not None:
        take_news(core, batch, run, step, news)


def plan_permits(core: Core) -> None:
    """Have the permits looked at again after a while, once however many wait for them."""
    if time.monotonic() >= core.permits_at:
        core.permits_at = time.monotonic() + PERMIT_LOOK_S
        core.timers.after(PERMIT_LOOK_S, LookAtPermits())


def _start(batch: Batch, step: StepState, timeout: int) -> None:
    step.deadline_at = batch.now_ms + timeout
    step.move(S.STARTING, batch.now_ms)


def _starting(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    if not step.driven:
        _drive(core, batch, run, step)


def _running(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    if step.driven:
        return
    composite = composite_of(step)
    if composite is not None:
        _once(core, step)
        take_news(core, batch, run, step, composite.resume(core, batch, run, step))
    elif type_of(step).inline:
        _once(core, step)
        core.timers.after(0, PollInline(step.key))
    else:
        _drive(core, batch, run, step)


def _drive(core: Core, batch: Batch, run: RunState, step: StepState) -> None:
    """Let the executor see to it, once the status is durable."""
    _once(core, step)
    if step.ending is not None:
        conclude.cancel(core, batch, run, step)
        return
    type_, context, handle, key = type_of(step), context_of(core, run, step), step.handle, step.key
    batch.after_commit(lambda: core.executor.drive(key, type_, context, handle))


def take_news(core: Core, batch: Batch, run: RunState, step: StepState, news: Running | Finished) -> None:
    """What a type says of its attempt, made durable."""
    if isinstance(news, Finished):
        conclude.conclude(core, batch, run, step, news)
        return
    if step.status is S.STARTING:
        step.move(S.RUNNING, batch.now_ms)
    step.handle = dict(news.handle)
    if news.progress is not None:
        step.progress = dict(news.progress)
    batch.touch_step(step)
    if composite_of(step) is not None:
        _once(core, step)
    elif type_of(step).inline:
        _once(core, step)
        core.timers.after(news.poll_after_s, PollInline(step.key))


def _once(core: Core, step: StepState) -> None:
    """Take an attempt in hand, if that has not happened yet: its deadline counts from now on."""
    if not step.driven:
        assert step.deadline_at is not None
        step.driven = True
        core.timers.at(step.deadline_at, StepDue(step.key))


_HANDLERS: dict[StepStatus, Callable[[Core, Batch, RunState, StepState], None]] = {
    S.CREATED: _created,
    S.INITIALIZED: _initialized,
    S.PAUSED: _paused,
    S.WAITING_FOR_SIGNALS: _waiting_for_signals,
    S.EVALUATING_PARAMS: _evaluating_params,
    S.WAITING_FOR_PERMITS: _waiting_for_permits,
    S.STARTING: _starting,
    S.RUNNING: _running,
}
