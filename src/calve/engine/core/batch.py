"""One transaction of the scheduler: what it changes, and what follows once it is committed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, exists, insert, select, update

from calve.engine.core.lease import Lease
from calve.engine.core.messages import Message
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.outbox import dump
from calve.errors import ConflictError
from calve.state.orchestration import breakpoints, events, permits, runs, steps, wakeups

_STEP_KEY = ("run", "step_id", "attempt_id")
_STEP_CHANGES = [
    column.name
    for column in steps.columns
    if column.name not in (*_STEP_KEY, "uuid", "carried", "created_at")
]


class Batch:
    """Changes gathered in memory and written together; effects that wait for the commit."""

    def __init__(
        self, connection: Connection, now_ms: int, lease: Lease, known_runs: Mapping[int, RunState]
    ) -> None:
        self.connection = connection
        self.now_ms = now_ms
        self.owner = lease.generation
        self._lease = lease
        self._has_begun = False
        self._known_runs = known_runs
        #: What is to be handled within this transaction, or after it if it has become too long.
        self.todo: deque[Message] = deque()
        #: How many permits of a tag are taken, as this transaction sees it.
        self.permits_taken: dict[str, int] = {}
        self.permit_limits: dict[str, int | None] = {}
        #: Keys for runs that are made in this transaction.
        self.reserved_ids: deque[int] = deque()
        #: True if commands or wakeups were written that may be for this engine itself.
        self.wants_sweep = False
        self.step_moves = 0
        #: Workflows whose queues are looked at when all else is done, each once.
        self.queues: dict[str, None] = {}
        #: True once something was written that others may want to see.
        self.has_changes = False
        self._steps: dict[tuple[int, str, int], StepState] = {}
        self._runs: dict[int, RunState] = {}
        self._events: list[dict[str, Any]] = []
        self._wakeups: dict[tuple[str, str], None] = {}
        self._permits_gained: list[dict[str, Any]] = []
        self._permits_given_back: list[dict[str, Any]] = []
        self._breakpoints: dict[str, bool] = {}
        self._effects: list[Callable[[], None]] = []

    def begin_work(self) -> None:
        """Pass the fence, before the first change: LeaseLostError if this engine was replaced."""
        if not self._has_begun:
            self._lease.renew(self.connection, self.now_ms)
            self._has_begun = True

    def touch_step(self, step: StepState) -> None:
        """Write an attempt at the end of the batch."""
        self._steps[(step.run, step.id, step.attempt_id)] = step
        self.step_moves += 1

    def touch_run(self, run: RunState) -> None:
        """Write a run at the end of the batch."""
        self._runs[run.id] = run

    def record(self, kind: str, run: RunState, data: Any, step: StepState | None = None) -> None:
        """Note an event of a run."""
        self._events.append(
            {
                "at": self.now_ms,
                "kind": kind,
                "workflow_id": run.workflow_id,
                "run": run.id,
                "instance_id": run.instance_id,
                "run_id": run.run_id,
                "step_id": None if step is None else step.id,
                "attempt_id": None if step is None else step.attempt_id,
                "data": dump(data),
            }
        )

    def wake(self, kind: str, key: str) -> None:
        """Ask some engine to look at something."""
        self._wakeups[(kind, key)] = None

    def gain_permit(self, tag: str, step: StepState) -> None:
        """Take a permit for a step."""
        self.permits_taken[tag] = self.permits_taken.get(tag, 0) + 1
        self._permits_gained.append({"tag": tag, "run": step.run, "step_id": step.id})

    def give_back_permits(self, step: StepState) -> None:
        """Free all permits of a step when the batch is written."""
        own = (step.run, step.id)
        # What it took in this transaction is not written yet.
        self._permits_gained = [
            item for item in self._permits_gained if (item["run"], item["step_id"]) != own
        ]
        self._permits_given_back.append({"b_run": step.run, "b_step_id": step.id})

    def has_breakpoints(self, workflow_id: str) -> bool:
        """True if any breakpoint is set on a workflow; most have none, and are asked about once."""
        if workflow_id not in self._breakpoints:
            found = self.connection.execute(_BREAKPOINT, {"workflow_id": workflow_id}).first()
            self._breakpoints[workflow_id] = bool(found and found[0])
        return self._breakpoints[workflow_id]

    def ask_for_sweep(self) -> None:
        """Have all engines look for new commands and wakeups once this is committed."""
        self.wants_sweep = True
        self.has_changes = True

    def before_foreign_writes(self) -> None:
        """Make the database agree with memory before others, who know only the database, write to it."""
        self.flush()
        # On SQLite a key counts as taken only once its row is written.
        if self.connection.dialect.name == "sqlite":
            self.reserved_ids.clear()

    def after_commit(self, effect: Callable[[], None]) -> None:
        """Do something outside the database once the changes are durable."""
        self._effects.append(effect)

    def run_effects(self) -> None:
        """Do what waited for the commit."""
        for effect in self._effects:
            effect()

    @property
    def _is_dirty(self) -> bool:
        return bool(self._steps or self._runs or self._events or self._wakeups)

    def flush(self) -> None:
        """Write what was gathered; what is read after this in the same transaction sees it."""
        self._flush_runs()
        self._flush_steps()
        self._execute(_GIVE_BACK, self._permits_given_back)
        self._execute(insert(permits), self._permits_gained)
        self._execute(insert(events), self._events)
        self._execute(insert(wakeups), [{"kind": kind, "key": key} for kind, key in self._wakeups])
        self.has_changes = self.has_changes or self._is_dirty
        for gathered in (self._runs, self._steps, self._events, self._wakeups):
            gathered.clear()
        self._permits_given_back, self._permits_gained = [], []

    def _flush_runs(self) -> None:
        new = [run for run in self._runs.values() if not run.stored]
        old = [run for run in self._runs.values() if run.stored]
        self._execute(insert(runs), [run.to_row(self.owner) for run in new])
        for run in new:
            run.stored = True
        if old:
            rows = [_bound(run.changes(self.owner), ("id",)) for run in old]
            columns = [name for name in old[0].changes(self.owner) if name != "id"]
            self._execute(_update(runs, ("id",), columns), rows)

    def _flush_steps(self) -> None:
        new, full, light = [], [], []
        for step in self._steps.values():
            self._note_path(step)
            if step.stored is None:
                new.append(step.to_row())
            else:
                key = {"b_status": step.stored.value}
                if step.params_are_written:
                    light.append(_bound(step.changes(), _STEP_KEY) | key)
                else:
                    full.append(_bound(step.to_row(), _STEP_KEY) | key)
            step.stored = step.status
        self._execute(insert(steps), new)
        self._update_steps(full, _STEP_CHANGES)
        self._update_steps(light, [name for name in _STEP_CHANGES if name != "params"])

    def _update_steps(self, rows: list[dict[str, Any]], columns: list[str]) -> None:
        if self._execute(_update(steps, (*_STEP_KEY, "status"), columns), rows) != len(rows):
            raise ConflictError(
                "STEP_MOVED",
                "a step is not in the status that this engine left it in",
                "nothing is to be done: it is read again",
            )

    def _note_path(self, step: StepState) -> None:
        if not step.path:
            return
        run = self._known_runs[step.run]
        data: dict[str, Any] = {"path": step.path}
        if step.error is not None and step.status.is_terminal:
            data["error"] = step.error
        self.record("step", run, data, step)
        step.path = []

    def _execute(self, statement: Any, rows: list[dict[str, Any]]) -> int:
        if not rows:
            return 0
        if len(rows) == 1:
            return self.connection.execute(statement, rows[0]).rowcount
        return self.connection.execute(statement, rows).rowcount


def _is(table: Table, column: str) -> Any:
    return table.c[column] == bindparam(f"b_{column}")


_GIVE_BACK = delete(permits).where(_is(permits, "run"), _is(permits, "step_id"))
_BREAKPOINT = select(exists().where(breakpoints.c.workflow_id == bindparam("workflow_id")))


def _bound(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """A row whose keys are named apart from the columns that they select."""
    return {(f"b_{name}" if name in keys else name): value for name, value in row.items()}


_statements: dict[tuple[str, tuple[str, ...]], Any] = {}


def _update(table: Table, keys: tuple[str, ...], columns: list[str]) -> Any:
    known = (table.name, (*keys, *columns))
    if known not in _statements:
        condition = [_is(table, key) for key in keys]
        _statements[known] = (
            update(table).where(*condition).values({name: bindparam(name) for name in columns})
        )
    return _statements[known]
