"""A state with engines at work on it, and a client in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from sqlalchemy import func, select

from benchmarks.engine.flows import Flow
from benchmarks.engine.stores import Store
from calve.engine.core.engine import Engine
from calve.engine.core.nudge import Waiter
from calve.engine.model.requests import Started, StartRequest
from calve.engine.model.statuses import RunStatus
from calve.engine.orchestrator import Orchestrator
from calve.engine.views.waiting import wait_for_run
from calve.settings import load_settings
from calve.state.database import Database
from calve.state.orchestration import runs
from calve.workflow.definition import load_yaml

AUTHOR = "bench"
_PATIENCE_S = 600.0
_UNFINISHED = (RunStatus.CREATED.value, RunStatus.IN_PROGRESS.value)


class Site:
    """What a client in this process does."""

    def __init__(self, home: Path, database: Database) -> None:
        self.database = database
        settings = load_settings(home).model_copy(update={"state_url": database.url})
        self.calve = Orchestrator(settings, database)

    def push(self, flow: Flow) -> str:
        """Push a workflow; its id."""
        loaded = load_yaml(json.dumps(flow), types=self.calve.job_types())
        return self.calve.push(loaded.definition, AUTHOR).workflow_id

    def start(self, workflow_id: str) -> Started:
        """Queue an instance."""
        return self.calve.start(StartRequest(workflow_id=workflow_id, author=AUTHOR))

    def run(self, workflow_id: str) -> Started:
        """Start an instance, and wait until it has succeeded."""
        started = self.start(workflow_id)
        status = wait_for_run(self.database, started.run, _PATIENCE_S)
        if status is not RunStatus.SUCCEEDED:
            raise RuntimeError(f"a run of {workflow_id} is {status.value}")
        return started

    def run_many(self, workflow_id: str, count: int, together: bool = True) -> None:
        """Start instances in one call, or in one call each, and wait until all have succeeded."""
        if together:
            request = StartRequest(workflow_id=workflow_id, author=AUTHOR)
            keys = [started.run for started in self.calve.start_all([request] * count)]
        else:
            keys = [self.start(workflow_id).run for _ in range(count)]
        with closing(Waiter(self.database)) as waiter:
            while self._count(keys, *_UNFINISHED):
                if not waiter.wait(_PATIENCE_S):
                    raise RuntimeError(f"{count} runs of {workflow_id} do not end")
        if self._count(keys, RunStatus.SUCCEEDED.value) != count:
            raise RuntimeError(f"not all runs of {workflow_id} have succeeded")

    def _count(self, keys: Sequence[int], *statuses: str) -> int:
        query = select(func.count()).where(
            runs.c.id.between(min(keys), max(keys)), runs.c.status.in_(statuses)
        )
        with self.database.read() as connection:
            return connection.execute(query).scalar_one()


@contextmanager
def open_site(store: Store, engine_processes: int = 0) -> Iterator[Site]:
    """A new state with an engine in this process, or with so many in processes of their own."""
    from support.workers import Worker

    home = store.new_home()
    database = Database(store.new_url(home))
    site = Site(home, database)
    with ExitStack() as stack:
        stack.callback(database.close)
        with database.read():
            # Made before two engines want to make it.
            pass
        if engine_processes:
            environment = {"CALVE_HOME": str(home), "CALVE_STATE_URL": database.url}
            for _ in range(engine_processes):
                stack.callback(Worker(environment, home).end)
        else:
            engine = Engine(site.calve.settings, database)
            engine.start()
            stack.callback(engine.stop)
        yield site
