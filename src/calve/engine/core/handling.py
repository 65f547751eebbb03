"""What each message leads to, within a transaction."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, func, select, update

from calve.engine.actions.start import start_instance
from calve.engine.core import attempt, conclude, progress
from calve.engine.core.batch import Batch
from calve.engine.core.commands import close_stale_commands, take_commands
from calve.engine.core.composites import composite_of
from calve.engine.core.context import Core, context_of, type_of
from calve.engine.core.executor import run_inline
from calve.engine.core.failing import blaming
from calve.engine.core.loading import load_run
from calve.engine.core.messages import (
    Cancelled,
    ChildEnded,
    CountAnew,
    GoOn,
    LookAtPermits,
    Message,
    PollInline,
    Reported,
    RetryDue,
    RunDue,
    SignalSeen,
    StepDue,
    TriggersDue,
    TryPermits,
)
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import AttemptKey, StepState
from calve.engine.model.requests import Started, StartRequest
from calve.engine.model.statuses import RunStatus, StepStatus
from calve.engine.outbox import QUEUE, TABLES, TRIGGERS
from calve.engine.triggers import signal_triggers, time_triggers
from calve.state.clock import now_ms
from calve.state.orchestration import commands, leases, runs, signals, wakeups

S = StepStatus
#: How many wakeups and unowned runs are taken in one transaction.
SWEEP_LIMIT = 100
#: One look that tells whether any of the others is worth it; most often none is.
_LEFT_BY_OTHERS = select(
    exists(select(wakeups.c.id)).label("wakeups"),
    exists(select(runs.c.id).where(runs.c.ready, runs.c.owner.is_(None))).label("runs"),
    exists(select(commands.c.id).where(commands.c.done_at.is_(None))).label("commands"),
    select(func.max(signals.c.id)).scalar_subquery().label("last_signal"),
)
_SOME_WAKEUPS = select(wakeups.c.id).order_by(wakeups.c.id).limit(SWEEP_LIMIT)
_TAKE_WAKEUPS = (
    delete(wakeups)
    .where(wakeups.c.id.in_(_SOME_WAKEUPS.with_for_update(skip_locked=True)))
    .returning(wakeups.c.kind, wakeups.c.key)
)
_NEW_SIGNALS = (
    select(signals.c.id, signals.c.name).where(signals.c.id > bindparam("last")).order_by(signals.c.id)
)
#: Time triggers are looked at so often at least, should the wall clock be set.
TRIGGER_LOOK_S = 30.0


def handle(core: Core, batch: Batch, message: Message) -> None:
    """Do what a message asks for. A message about something that has gone on since does nothing."""
    batch.begin_work()
    match message:
        case TryPermits() | LookAtPermits():
            _about_permits(core, batch, message)
        case SignalSeen(name):
            for key in core.waiting_signals.pop(name, set()):
                batch.todo.append(GoOn(key.run))
        case TriggersDue():
            if time.monotonic() >= core.triggers_at:
                fire_triggers(core, batch)
        case GoOn() | RunDue() | ChildEnded() | CountAnew():
            with blaming(message.run):
                _about_run(core, batch, message)
        case Reported() | Cancelled() | PollInline() | StepDue() | RetryDue():
            found = core.step(message.key)
            if found is not None:
                with blaming(message.key.run), attempt.failing_internally(core, batch, *found):
                    _about_step(core, batch, *found, message)


def _about_run(core: Core, batch: Batch, message: GoOn | RunDue | ChildEnded | CountAnew) -> None:
    match message:
        case GoOn(run):
            _go_on(core, batch, run)
        case RunDue(run):
            _run_due(core, batch, run)
        case ChildEnded():
            _child_ended(core, batch, message)
        case CountAnew():
            _count_anew(core, batch, message)


def _go_on(core: Core, batch: Batch, run: int) -> None:
    found = core.runs.get(run)
    if found is not None:
        progress.go_on(core, batch, found)


def _run_due(core: Core, batch: Batch, run: int) -> None:
    found = core.runs.get(run)
    if found is not None and found.deadline_at is not None:
        progress.end_run(core, batch, found, RunStatus.TIMED_OUT)


def _about_step(core: Core, batch: Batch, run: RunState, step: StepState, message: Any) -> None:
    at_work = step.status in (S.STARTING, S.RUNNING)
    match message:
        case Reported(_, news) if at_work:
            attempt.take_news(core, batch, run, step, news)
        case Cancelled() if at_work:
            if step.ending is not None:
                conclude.settle(core, batch, run, step)
        case PollInline() if step.status is S.RUNNING:
            assert step.handle is not None
            news = run_inline(type_of(step).poll(context_of(core, run, step), step.handle))
            attempt.take_news(core, batch, run, step, news)
        case RetryDue() if step.status.is_retryable:
            progress.retry(core, batch, run, step)
        case StepDue() if at_work:
            conclude.end(core, batch, run, step, S.TIMED_OUT)


def _about_permits(core: Core, batch: Batch, message: TryPermits | LookAtPermits) -> None:
    match message:
        case TryPermits(key):
            _try_permits(core, batch, key)
        case LookAtPermits() if time.monotonic() >= core.permits_at:
            batch.todo.extend(TryPermits(key) for key in core.waiting_permits.firsts())
            if core.waiting_permits:
                attempt.plan_permits(core)


def _try_permits(core: Core, batch: Batch, key: AttemptKey) -> None:
    """Let a step go on if there is room now, and then whoever waits behind it."""
    tag = core.waiting_permits.tag_of(key)
    if tag is None:
        return
    found = core.step(key)
    if found is None or found[1].status is not S.WAITING_FOR_PERMITS:
        core.waiting_permits.remove(key)
    else:
        with blaming(key.run):
            attempt.advance(core, batch, *found)
    if core.waiting_permits.tag_of(key) == tag:
        return
    following = core.waiting_permits.first(tag)
    if following is not None:
        batch.todo.append(TryPermits(following))


def _child_ended(core: Core, batch: Batch, message: ChildEnded) -> None:
    run = core.runs.get(message.run)
    step = None if run is None else run.steps.get(message.step_id)
    if run is None or step is None or step.status is not S.RUNNING or step.tally != message.tally:
        return
    composite = composite_of(step)
    assert composite is not None
    with attempt.failing_internally(core, batch, run, step):
        news = composite.child_ended(core, batch, run, step, message.child_instance_id, message.status)
        attempt.take_news(core, batch, run, step, news)


def _count_anew(core: Core, batch: Batch, message: CountAnew) -> None:
    run = core.runs.get(message.run)
    step = None if run is None else run.steps.get(message.step_id)
    if run is not None and step is not None and step.status is S.RUNNING:
        composite = composite_of(step)
        assert composite is not None
        with attempt.failing_internally(core, batch, run, step):
            attempt.take_news(core, batch, run, step, composite.resume(core, batch, run, step))


def sweep(core: Core, batch: Batch, last_signal: int) -> int:
    """Take what others left: wakeups, free runs, commands, signals; the key of the newest signal."""
    there_is = batch.connection.execute(_LEFT_BY_OTHERS).one()
    is_new = (there_is.last_signal or 0) > last_signal
    if not (there_is.wakeups or there_is.runs or there_is.commands or is_new):
        return last_signal
    batch.begin_work()
    if there_is.wakeups:
        _take_wakeups(core, batch)
    if there_is.runs:
        _take_runs(core, batch)
    if there_is.commands:
        take_commands(core, batch)
        close_stale_commands(batch)
    return see_signals(core, batch, last_signal) if is_new else last_signal


def _take_wakeups(core: Core, batch: Batch) -> None:
    rows = batch.connection.execute(_TAKE_WAKEUPS).all()
    for kind, key in dict.fromkeys((row.kind, row.key) for row in rows):
        if kind == QUEUE:
            batch.queues[key] = None
        elif kind == TRIGGERS:
            core.triggers_at = 0.0
            batch.todo.append(TriggersDue())
        elif kind == TABLES:
            batch.after_commit(core.look_at_tables)
        else:
            _match_signal(core, batch, int(key))
    if len(rows) == SWEEP_LIMIT:
        batch.ask_for_sweep()


def _match_signal(core: Core, batch: Batch, signal: int) -> None:
    batch.before_foreign_writes()
    signal_triggers.match_signal(batch.connection, signal, batch.now_ms, _starter(batch))
    batch.ask_for_sweep()


def see_signals(core: Core, batch: Batch, last: int) -> int:
    """Wake the steps of this engine that wait for a signal that came since; the key of the newest signal."""
    for row in batch.connection.execute(_NEW_SIGNALS, {"last": last}):
        last = row.id
        if row.name in core.waiting_signals:
            batch.todo.append(SignalSeen(row.name))
    return last


def _take_runs(core: Core, batch: Batch) -> None:
    # Nested runs are always taken: what waits for them may be what fills this engine.
    nested = () if core.may_take_more() else (runs.c.parent_run.is_not(None),)
    free = (
        select(runs.c.id)
        .where(runs.c.ready, runs.c.owner.is_(None), *nested)
        .order_by(runs.c.id)
        .limit(SWEEP_LIMIT)
        .with_for_update(skip_locked=True)
    )
    found = list(batch.connection.execute(free).scalars())
    if not found:
        return
    batch.connection.execute(update(runs).where(runs.c.id.in_(found)).values(owner=batch.owner))
    for run in found:
        with blaming(run):
            state = load_run(batch.connection, run, core.runs)
        assert state is not None
        core.runs[run] = state
        progress.watch_deadline(core, state)
        batch.todo.append(GoOn(run))
    if len(found) == SWEEP_LIMIT:
        batch.ask_for_sweep()


def load_owned(core: Core, connection: Connection, generation: int) -> None:
    """Read all runs of an engine into its memory."""
    owned = list(connection.execute(select(runs.c.id).where(runs.c.owner == generation)).scalars())
    for run in owned:
        state = load_run(connection, run, core.runs)
        assert state is not None
        core.runs[run] = state
        progress.watch_deadline(core, state)


def lost_attempts(connection: Connection, keys: Iterable[AttemptKey]) -> list[AttemptKey]:
    """Of the attempts at work in this process, those that an engine of another machine has given up on.

    An engine of this machine goes on with the very same processes, and must not be disturbed.
    """
    lost = []
    for key in keys:
        owner = connection.execute(
            select(leases.c.host).join(runs, runs.c.owner == leases.c.generation).where(runs.c.id == key.run)
        ).scalar()
        if owner is not None and owner != socket.gethostname():
            lost.append(key)
    return lost


def fire_triggers(core: Core, batch: Batch) -> None:
    """Start what the time says."""
    batch.before_foreign_writes()
    due = time_triggers.fire_due(batch.connection, now_ms(), _starter(batch))
    wait_s = TRIGGER_LOOK_S if due is None else min(TRIGGER_LOOK_S, max(0.0, (due - now_ms()) / 1000))
    batch.after_commit(lambda: _plan_triggers(core, wait_s))


def _plan_triggers(core: Core, wait_s: float) -> None:
    core.triggers_at = time.monotonic() + wait_s
    core.timers.after(wait_s, TriggersDue())


def _starter(batch: Batch):  # type: ignore[no-untyped-def]
    def start(request: StartRequest) -> Started:
        batch.ask_for_sweep()
        return start_instance(batch.connection, request, batch.now_ms)

    return start
