"""An engine in this process, and short ways to push, start, act, and wait for what comes of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import Table, select

from calve.engine.core.engine import Engine
from calve.engine.core.nudge import Waiter
from calve.engine.model.commands import Command
from calve.engine.model.requests import RestartRequest, Started, StartRequest
from calve.engine.orchestrator import Orchestrator
from calve.settings import load_settings
from calve.state.database import Database
from calve.state.orchestration import events, permits, runs, steps
from calve.steps import registry
from calve.workflow.definition import load_yaml
from calve.workflow.params import ParamDefinition
from support.engine_probe import GATES
from support.states import place_state

AUTHOR = "ada"
#: Far more than anything here takes: a test that gets there has found a run that does not go on.
DEADLINE_S = 30.0

Found = TypeVar("Found")
Job = dict[str, Any]


@dataclass(frozen=True)
class Attempt:
    """One attempt of a step, as the state has it."""

    id: int
    status: str
    carried: bool
    started_at: int | None
    ended_at: int | None
    params: Mapping[str, Any]
    error: Mapping[str, Any] | None
    artifacts: Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """A run, as the state has it. `steps` has the newest attempt of each step that has begun."""

    key: int
    workflow_id: str
    instance_id: int
    run_id: int
    version: int
    status: str
    params: Mapping[str, Any]
    initiator: Mapping[str, Any]
    parent_run: int | None
    attempts: Mapping[str, list[Attempt]]

    @property
    def steps(self) -> dict[str, Attempt]:
        return {name: found[-1] for name, found in self.attempts.items()}

    @property
    def statuses(self) -> dict[str, str]:
        return {name: step.status for name, step in self.steps.items()}

    def code(self, step_id: str) -> str:
        """The code of the error of a step."""
        error = self.steps[step_id].error
        assert error is not None, f"{step_id} has no error"
        return str(error["code"])


class EngineRuns:
    """A home with an engine at work in it."""

    def __init__(self, home: Path, database: Database) -> None:
        self.settings = load_settings(home).model_copy(update={"state_url": database.url})
        self.database = database
        self.calve = Orchestrator(self.settings, database)
        self.engine = Engine(self.settings, database)

    def start_engine(self) -> None:
        """Put a new engine to work."""
        self.engine = Engine(self.settings, self.database)
        self.engine.start()

    def push(self, document: Mapping[str, Any]) -> int:
        """Push a workflow; its version."""
        loaded = load_yaml(json.dumps(document), types=self.calve.job_types())
        return self.calve.push(loaded.definition, AUTHOR).version

    def start(
        self, workflow: Mapping[str, Any] | str, more: Mapping[str, Any] | None = None, **params: Any
    ) -> Started:
        """Start an instance; `more` goes into the request, `params` are run params."""
        workflow_id = workflow if isinstance(workflow, str) else self._pushed(workflow)
        given = {name: ParamDefinition.infer(name, value) for name, value in params.items()}
        request = {"params": given, "author": AUTHOR, **(more or {})}
        return self.calve.start(StartRequest(workflow_id=workflow_id, **request))

    def run(
        self, workflow: Mapping[str, Any] | str, more: Mapping[str, Any] | None = None, **params: Any
    ) -> Run:
        """Start an instance and wait for its end."""
        return self.finished(self.start(workflow, more, **params))

    def restart(self, started: Started | Run, **more: Any) -> Started:
        """Queue a further run."""
        return self.calve.restart(
            RestartRequest(
                workflow_id=started.workflow_id, instance_id=started.instance_id, author=AUTHOR, **more
            )
        )

    def rerun(self, started: Started | Run, **more: Any) -> Run:
        """Restart, and wait for the end."""
        return self.finished(self.restart(started, **more))

    def finished(self, started: Started) -> Run:
        """The run once it is over."""
        return self.until(lambda: _if(self.look(started), lambda run: _is_over(run.status)))

    def look(self, started: Started | int) -> Run:
        """The run as it is now."""
        key = started if isinstance(started, int) else started.run
        with self.database.read() as connection:
            row = connection.execute(select(runs).where(runs.c.id == key)).one()
            query = select(steps).where(steps.c.run == key).order_by(steps.c.created_at, steps.c.attempt_id)
            found = connection.execute(query).all()
        attempts: dict[str, list[Attempt]] = {}
        for step in found:
            attempts.setdefault(step.step_id, []).append(_attempt(step))
        return Run(
            key, row.workflow_id, row.instance_id, row.run_id, row.version, row.status,
            _values(row.params), json.loads(row.initiator), row.parent_run, attempts,
        )  # fmt: skip

    def children(self, parent: Started | Run, step_id: str) -> list[Run]:
        """The runs that a step has started, in their order."""
        key = parent.run if isinstance(parent, Started) else parent.key
        query = select(runs.c.id).where(runs.c.parent_run == key, runs.c.parent_step == step_id)
        with self.database.read() as connection:
            keys = list(connection.execute(query.order_by(runs.c.instance_id, runs.c.run_id)).scalars())
        return [self.look(key) for key in keys]

    def until_step(self, started: Started, step_id: str, *statuses: str) -> Run:
        """The run once a step is in one of these statuses."""
        return self.until(
            lambda: _if(self.look(started), lambda run: run.statuses.get(step_id) in statuses),
            lambda: f"{step_id} is not {statuses}: {self.look(started).status} {self.look(started).statuses}",
        )

    def until(
        self, look: Callable[[], Found | None], say: Callable[[], str] = lambda: "it did not come"
    ) -> Found:
        """What `look` finds, as soon as it finds something."""
        deadline = time.monotonic() + DEADLINE_S
        waiter = Waiter(self.database)
        try:
            while not (found := look()):
                assert time.monotonic() < deadline, say()
                waiter.wait(0.5)
            return found
        finally:
            waiter.close()

    def open(self, gate: str) -> None:
        """Let through what waits at a gate."""
        GATES.open(gate)

    def act(self, kind: str, on: Started | Run, step_id: str, **more: Any) -> Any:
        """Do something to a step, and wait until it is carried out."""
        done = self.calve.act_on_step(Command(kind), on.workflow_id, on.instance_id, step_id, AUTHOR, **more)
        if isinstance(done, int):
            assert self.calve.wait_for_command(done, DEADLINE_S)
        return done

    def end(self, on: Started, kill: bool = False) -> None:
        """Stop or kill an instance."""
        self.calve.end_instance(on.workflow_id, on.instance_id, AUTHOR, kill=kill)

    def pause(self, on: Started, paused: bool = True) -> None:
        """Pause or resume an instance."""
        command = self.calve.pause_instance(on.workflow_id, on.instance_id, AUTHOR, paused)
        assert self.calve.wait_for_command(command, DEADLINE_S)

    def rows(self, table: Table) -> list[Any]:
        """All rows of a table, in the order of its key."""
        with self.database.read() as connection:
            return list(connection.execute(select(table).order_by(*table.primary_key.columns)).all())

    def permits(self) -> list[str]:
        """The tags of all permits that are taken."""
        return [row.tag for row in self.rows(permits)]

    def paths(self) -> dict[tuple[int, str, int], list[str]]:
        """All statuses that each attempt went through."""
        found: dict[tuple[int, str, int], list[str]] = {}
        for row in self.rows(events):
            if row.kind == "step":
                way = found.setdefault((row.run, row.step_id, row.attempt_id), [])
                way.extend(status for status, _ in json.loads(row.data)["path"])
        return found

    def _pushed(self, document: Mapping[str, Any]) -> str:
        self.push(document)
        return str(document["Workflow"]["id"])


def flow(*jobs: Job, id: str = "w", dag: Any = None, trigger: Any = None, **keys: Any) -> dict[str, Any]:
    """A workflow of these jobs. A `!` before a name is written `expr__name`."""
    inside = {"id": id, **_named(keys), "jobs": list(jobs), **({} if dag is None else {"dag": dag})}
    return {**({} if trigger is None else {"Trigger": trigger}), "Workflow": inside}


def noop(id: str, **keys: Any) -> Job:
    """A job that is done at once."""
    return {"job": {"id": id, "type": "NoOp", **_named(keys)}}


def probe(id: str, *plan: str, gate: str | None = None, **keys: Any) -> Job:
    """A job that waits at a gate and ends as planned."""
    stated = ({"plan": list(plan)} if plan else {}) | ({} if gate is None else {"gate": gate})
    return {"job": {"id": id, "type": "Probe", **stated, **_named(keys)}}


def foreach(id: str, params: Mapping[str, Any], *jobs: Job, **keys: Any) -> Job:
    """A loop over arrays."""
    return {"foreach": {"id": id, "params": dict(params), "jobs": list(jobs), **_named(keys)}}


def while_(id: str, condition: str, params: Mapping[str, Any], *jobs: Job, **keys: Any) -> Job:
    """A loop with a condition."""
    return {
        "while": {
            "id": id,
            "condition": condition,
            "params": dict(params),
            "jobs": list(jobs),
            **_named(keys),
        }
    }


def sub(id: str, workflow_id: str, **keys: Any) -> Job:
    """Another workflow as a step."""
    return {"subworkflow": {"id": id, "workflow_id": workflow_id, **_named(keys)}}


#: One second is the shortest wait that a policy may state.
SOON = {
    "type": "FIXED_BACKOFF",
    **{f"{kind}_retry_backoff_in_secs": 1 for kind in ("error", "platform", "timeout")},
}
NO_RETRY = {"error_retry_limit": 0, "platform_retry_limit": 0, "timeout_retry_limit": 0}


def _named(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {(f"!{name[6:]}" if name.startswith("expr__") else name): value for name, value in keys.items()}


def _if(run: Run, condition: Callable[[Run], bool]) -> Run | None:
    return run if condition(run) else None


def _is_over(status: str) -> bool:
    return status not in ("CREATED", "IN_PROGRESS")


def _values(text: str) -> dict[str, Any]:
    return {name: item["evaluated_result"] for name, item in json.loads(text).items()}


def _attempt(row: Any) -> Attempt:
    return Attempt(
        row.attempt_id, row.status, row.carried, row.started_at, row.ended_at, _values(row.params),
        None if row.error is None else json.loads(row.error), json.loads(row.artifacts or "{}"),
    )  # fmt: skip


@contextmanager
def engine_runs(home: Path, database: Database) -> Iterator[EngineRuns]:
    """An engine at work on a database."""
    made = EngineRuns(home, database)
    made.start_engine()
    try:
        yield made
    finally:
        made.engine.stop()


@pytest.fixture
def _probe_type(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The probe is a step type while the test runs."""
    monkeypatch.setattr(registry, "BUILT_IN", {**registry.BUILT_IN, "Probe": "support.engine_probe:Probe"})
    registry.reload()
    GATES.reset()
    yield
    registry.reload()


@pytest.fixture
def on_sqlite(home: Path, _probe_type: None) -> Iterator[EngineRuns]:
    """An engine at work on SQLite."""
    database = Database(place_state(home))
    with engine_runs(home, database) as made:
        yield made
    database.close()


@pytest.fixture
def on_both(home: Path, _probe_type: None, engine_db: Database) -> Iterator[EngineRuns]:
    """An engine at work on each kind of database."""
    with engine_runs(home, engine_db) as made:
        yield made
