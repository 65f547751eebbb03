"""The engine: a thread that takes messages, and turns each batch of them into one transaction."""

from __future__ import annotations

import queue
import threading
import time

# A catalog loads this when a table is first looked at; while it does, statements of other threads fail.
import sqlalchemy.orm  # noqa: F401
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from calve import logs
from calve.engine.core import handling, lease
from calve.engine.core.batch import Batch
from calve.engine.core.context import Core
from calve.engine.core.executor import Executor
from calve.engine.core.failing import RunFaultError, fail_run
from calve.engine.core.lease import BEATS_PER_LEASE, Lease, LeaseLostError, Watch
from calve.engine.core.messages import GoOn, Heartbeat, Message, Sweep, TriggersDue
from calve.engine.core.nudge import Nudges, announce, nudge
from calve.engine.core.queue import look_at_queue
from calve.engine.core.timers import Timers
from calve.engine.outbox import QUEUE
from calve.engine.triggers.tables.watcher import TableWatcher
from calve.errors import CalveError, ConflictError, UnreachableError
from calve.settings import Settings
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import leases, signals

log = logs.get_logger(__name__)

#: A transaction takes on no more messages after so long, or so many moves of steps.
BATCH_S = 0.05
BATCH_MOVES = 400
INBOX_LIMIT = 500
RETRY_S = 0.5
#: How far back each beat looks for signals that were committed out of order.
LATE_SIGNALS = 1_000
#: A message that cannot be handled, and that must not be lost, is tried again after so long.
ISOLATED_S = 5.0


class Engine:
    """Runs workflows until it is stopped. One per process; as many processes as the database bears."""

    def __init__(self, settings: Settings, database: Database | None = None) -> None:
        self._settings = settings
        self._database = database or Database(settings.state_url)
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._lease: Lease | None = None
        #: The leases of this process that may still count as alive.
        self._generations: list[int] = []
        self._watch = Watch(settings.engine.lease.total_seconds())
        self._last_signal = 0
        self._sweep_wanted = False

    @property
    def generation(self) -> int:
        """The generation of the lease that this engine has."""
        assert self._lease is not None
        return self._lease.generation

    def start(self) -> None:
        """Take a lease and begin."""
        self._tables = TableWatcher(self._settings, self._database)
        self._core = Core(
            self._settings,
            Timers(),
            Executor(self._inbox.put),
            look_at_tables=self._tables.wake,
            note_run_end=self._tables.note_run_end,
        )
        self._register()
        self._nudges = Nudges(self._database, self._poke)
        self._thread = threading.Thread(target=self._run, name="calve-engine", daemon=True)
        self._thread.start()
        self._tables.start()

    def stop(self) -> None:
        """End cleanly: finish the batch, give the runs back. What runs outside goes on and is found again."""
        if self._thread is None:
            return
        self._stopping.set()
        self._tables.stop()
        self._poke()
        self._thread.join()
        self._thread = None
        self._nudges.close()
        self._core.executor.close()
        if self._lease is not None:
            try:
                with self._database.write() as connection:
                    self._lease.end(connection)
                    announce(connection)
                nudge(self._database)
            except CalveError as error:
                log.warning("the lease could not be given back", error=str(error))

    def _poke(self) -> None:
        # One look is enough for all nudges that come before it.
        if not self._sweep_wanted:
            self._sweep_wanted = True
            self._inbox.put(Sweep())

    def _register(self) -> None:
        with self._database.write() as connection:
            for own in self._generations:
                lease.bury(connection, own)
            self._lease = lease.take_lease(connection, now_ms())
            self._last_signal = connection.execute(select(func.max(signals.c.id))).scalar() or 0
        self._generations = [self._lease.generation]
        self._sweep_wanted = True
        for message in (Sweep(), Heartbeat(), TriggersDue()):
            self._inbox.put(message)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._lease is None:
                    self._register()
                messages = self._next_messages()
                if messages:
                    self._process(messages)
            except Exception:  # an engine that still has a process goes on: its work is in the database
                log.exception("the engine begins anew")
                self._stopping.wait(RETRY_S)
                self._forget_lease()

    def _next_messages(self) -> list[Message]:
        messages = list(self._core.timers.due())
        delay = 0.0 if messages else self._core.timers.delay_s()
        try:
            messages.append(self._inbox.get(timeout=delay) if delay != 0.0 else self._inbox.get_nowait())
            while len(messages) < INBOX_LIMIT:
                messages.append(self._inbox.get_nowait())
        except queue.Empty:
            pass
        return messages

    def _process(self, messages: list[Message]) -> None:
        """Handle messages in one transaction; whatever goes wrong, none of them is lost."""
        try:
            self._attempt(messages)
        except LeaseLostError as lost:
            log.warning("lost the lease", error=str(lost))
            self._give_up_work()
        except (UnreachableError, ConflictError, SQLAlchemyError) as error:
            log.warning("a batch failed and is tried again", error=str(error))
            self._begin_again_after(messages)
        except RunFaultError as fault:
            self._fail_alone(fault, messages)
        except Exception:  # one message must not stop all others
            log.exception("a batch failed")
            self._isolate(messages)

    def _attempt(self, messages: list[Message]) -> None:
        assert self._lease is not None
        leftovers: list[Message] = []
        with self._database.write() as connection:
            batch = Batch(connection, now_ms(), self._lease, self._core.runs)
            self._work(batch, messages)
            leftovers = self._put_off(batch)
            batch.flush()
            if batch.has_changes:
                announce(connection)
        batch.run_effects()
        for message in leftovers:
            self._inbox.put(message)
        if batch.wants_sweep:
            self._poke()
        if batch.has_changes:
            nudge(self._database, but_not=self._poke)

    def _work(self, batch: Batch, messages: list[Message]) -> None:
        until = time.monotonic() + BATCH_S
        batch.todo.extend(messages)
        while batch.todo or batch.queues:
            if batch.step_moves > BATCH_MOVES or time.monotonic() > until:
                return
            if batch.todo:
                self._handle(batch, batch.todo.popleft())
            else:
                look_at_queue(self._core, batch, batch.queues.popitem()[0])

    def _handle(self, batch: Batch, message: Message) -> None:
        match message:
            case Sweep():
                self._sweep_wanted = False
                self._last_signal = handling.sweep(self._core, batch, self._last_signal)
            case Heartbeat():
                self._beat(batch)
            case _:
                handling.handle(self._core, batch, message)

    def _put_off(self, batch: Batch) -> list[Message]:
        """What this transaction did not get to. What must outlive a crash is written down."""
        for workflow_id in batch.queues:
            batch.wake(QUEUE, workflow_id)
            batch.ask_for_sweep()
        return list(dict.fromkeys(batch.todo))

    def _beat(self, batch: Batch) -> None:
        batch.begin_work()
        for generation, beat in self._watch.find_dead(batch.connection, batch.owner):
            if lease.bury(batch.connection, generation, beat):
                log.warning("took over from a dead engine", generation=generation)
                batch.ask_for_sweep()
        if self._core.waiting_signals:
            # On PostgreSQL a signal may be committed after one with a higher key.
            handling.see_signals(self._core, batch, self._last_signal - LATE_SIGNALS)
        others = select(func.count()).select_from(leases).where(leases.c.alive)
        self._core.has_company = batch.connection.execute(others).scalar_one() > 1
        pause_s = self._settings.engine.lease.total_seconds() / BEATS_PER_LEASE
        batch.after_commit(lambda: self._core.timers.after(pause_s, Heartbeat()))

    def _begin_again_after(self, messages: list[Message]) -> None:
        """The database did not take it: read everything again, and handle the messages then."""
        for message in messages:
            self._inbox.put(message)
        while not self._stopping.wait(RETRY_S):
            try:
                self._reload()
            except (CalveError, SQLAlchemyError) as error:
                log.debug("the state is not back yet", error=str(error))
            else:
                return

    def _reload(self) -> None:
        """Read the runs of this engine from the database again."""
        assert self._lease is not None
        self._core.forget()
        with self._database.read() as connection:
            handling.load_owned(self._core, connection, self._lease.generation)
        for run in self._core.runs:
            self._inbox.put(GoOn(run))

    def _isolate(self, messages: list[Message]) -> None:
        """Handle messages one by one; a run for which that fails is failed, so that the others go on."""
        self._reload()
        for number, message in enumerate(messages):
            try:
                self._attempt([message])
            except (UnreachableError, ConflictError, SQLAlchemyError):
                self._begin_again_after(messages[number:])
                return
            except RunFaultError as fault:
                self._fail_alone(fault, messages[number:])
                return
            except Exception:
                log.exception("a message cannot be handled", what=str(message)[:200])
                self._reload()
                # What comes again and again must come again, or all that it is for stands still.
                if isinstance(message, Sweep | Heartbeat | TriggersDue):
                    self._core.timers.after(ISOLATED_S, message)

    def _fail_alone(self, fault: RunFaultError, messages: list[Message]) -> None:
        """Fail the run that cannot be handled, and handle the messages without it."""
        log.error("a run cannot be handled and is failed", run=fault.run, exc_info=fault.error)
        assert self._lease is not None
        try:
            with self._database.write() as connection:
                self._lease.renew(connection, now_ms())
                fail_run(connection, fault, now_ms())
        except (CalveError, SQLAlchemyError) as error:
            log.warning("the run could not be failed yet", run=fault.run, error=str(error))
        self._begin_again_after(messages)
        self._poke()

    def _give_up_work(self) -> None:
        """This engine was taken for dead: end what others have begun again, and go on as a new engine."""
        with self._database.read() as connection:
            lost = handling.lost_attempts(connection, self._core.executor.attempts())
        self._core.executor.end(lost)
        self._forget_lease()

    def _forget_lease(self) -> None:
        """Begin as a new engine. The old lease, if it lives, is found dead like that of any other."""
        self._core.forget()
        self._core.timers.clear()
        self._core.executor.forget_all()
        self._lease = None
