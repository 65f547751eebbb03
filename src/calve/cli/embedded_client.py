"""The way to Calve in this process: the orchestrator on the state of the home."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from calve.cli.client import LATEST, Json, LogCall, RestartCall, StartCall, started_from
from calve.engine.core.liveness import any_engine_alive
from calve.engine.model.requests import RestartPolicy, RestartRequest, Started, StartRequest
from calve.engine.orchestrator import Orchestrator
from calve.engine.views import workflow_list
from calve.engine.views import workflows as workflow_views
from calve.engine.views.run_list import Wanted, list_runs
from calve.engine.views.runs import run_summary
from calve.engine.views.step_logs import LogRequest, read_log
from calve.engine.views.waiting import watch_run
from calve.server import acting
from calve.settings import Settings
from calve.workflow.definition import JobTypes, WorkflowDefinition
from calve.workflow.params import params_from_json

if TYPE_CHECKING:
    from calve.backfill.service import Backfills


class EmbeddedClient:
    """Commands on the state itself."""

    def __init__(self, settings: Settings, user: str) -> None:
        self._settings = settings
        self._user = user
        self._orchestrator = Orchestrator(settings)
        self.url = f"http://{settings.api.host}:{settings.api.port}"

    @property
    def orchestrator(self) -> Orchestrator:
        """All else that can be asked of the state."""
        return self._orchestrator

    def job_types(self) -> JobTypes:
        """The types that jobs may have."""
        return self._orchestrator.job_types()

    def push(self, definitions: Sequence[WorkflowDefinition]) -> list[Json]:
        """Push definitions, all or none."""
        pushed = self._orchestrator.push_all(definitions, self._user)
        return [{"workflow_id": one.workflow_id, "version": one.version} for one in pushed]

    def list_workflows(self, search: str | None, cursor: str | None, limit: int) -> Json:
        """Workflows by id."""
        with self._orchestrator.database.read() as connection:
            return workflow_list.list_workflows(connection, search, cursor, limit)

    def workflow_version(self, workflow_id: str, version: str) -> Json:
        """A version with its definition and the properties."""
        with self._orchestrator.database.read() as connection:
            return workflow_views.workflow_version(connection, workflow_id, version)

    def start(self, call: StartCall) -> Json:
        """A new instance."""
        request = StartRequest(
            workflow_id=call.workflow_id,
            version=call.version,
            params=params_from_json(call.params),
            request_id=call.request_id,
            author=self._user,
        )
        return _started(self._orchestrator.start(request))

    def restart(self, call: RestartCall) -> Json:
        """A further run."""
        params = params_from_json(call.params)
        if call.step_id is not None:
            return started_from(
                acting.restart_step(
                    self._orchestrator,
                    self._user,
                    call.workflow_id,
                    call.instance_id,
                    call.step_id,
                    params,
                )
            )
        beginning, incomplete = RestartPolicy.RESTART_FROM_BEGINNING, RestartPolicy.RESTART_FROM_INCOMPLETE
        request = RestartRequest(
            workflow_id=call.workflow_id,
            instance_id=call.instance_id,
            policy=beginning if call.from_beginning else incomplete,
            params=params,
            author=self._user,
        )
        return _started(self._orchestrator.restart(request))

    def run_summary(self, workflow_id: str, instance_id: int, run_id: str = LATEST) -> Json:
        """A run and its steps."""
        with self._orchestrator.database.read() as connection:
            return run_summary(connection, workflow_id, instance_id, run_id)

    def watch_run(self, workflow_id: str, instance_id: int, run_id: str) -> Iterator[Json]:
        """A run again and again as it changes, until it is over."""
        return watch_run(self._orchestrator.database, workflow_id, instance_id, run_id)

    def list_runs(
        self, workflow_id: str | None, status: str | None, limit: int, cursor: str | None = None
    ) -> Json:
        """A page of the newest runs."""
        with self._orchestrator.database.read() as connection:
            return list_runs(connection, Wanted.parse(workflow_id, status, cursor, limit))

    def read_log(self, call: LogCall) -> Json:
        """A piece of a log."""
        request = LogRequest(
            call.workflow_id,
            call.instance_id,
            call.step_id,
            call.run_id,
            call.attempt,
            call.offset,
            call.tail,
        )
        with self._orchestrator.database.read() as connection:
            return read_log(connection, self._settings, request)

    def act_on_workflow(self, workflow_id: str, action: str) -> Json:
        """Act on a workflow."""
        return acting.act_on_workflow(self._orchestrator, self._user, workflow_id, action)

    def act_on_instance(self, workflow_id: str, instance_id: int, action: str) -> Json:
        """Act on an instance."""
        return acting.act_on_instance(self._orchestrator, self._user, workflow_id, instance_id, action)

    def act_on_step(self, workflow_id: str, instance_id: int, step_id: str, action: str) -> Json:
        """Act on a step."""
        return acting.act_on_step(self._orchestrator, self._user, workflow_id, instance_id, step_id, action)

    def send_signal(
        self, name: str, params: Mapping[str, str | int], payload: Json, request_id: str | None
    ) -> Json:
        """Send a signal."""
        sent = self._orchestrator.send_signal(name, params, payload, request_id)
        return {"name": sent.name, "seq_id": sent.seq_id, "duplicate": sent.duplicate}

    def lag(self, consumer: str | None, table: str | None) -> list[Json]:
        """What consumers have not processed yet."""
        return self._orchestrator.lag(consumer, table)

    def lineage(self, name: str | None, direction: str | None, columns: bool) -> Json:
        """The lineage around a table or a workflow, or all of it."""
        from calve.backfill.lineage.describing import Way, describe, describe_all

        if name is None:
            return describe_all(self._orchestrator.database, self._settings)
        way = None if direction is None else Way(direction)
        return describe(self._orchestrator.database, self._settings, name, way=way, columns=columns)

    def triggers(self, workflow_id: str) -> Json:
        """What starts a workflow by itself."""
        return self._orchestrator.triggers(workflow_id)

    def valid_through(self, table: str) -> Json:
        """Up to which moment a table is complete."""
        return self._orchestrator.valid_through(table)

    def publish_valid_through(self, table: str, value: str) -> Json:
        """Say up to which moment a table is complete."""
        return self._orchestrator.publish_valid_through(table, value)

    @property
    def _backfills(self) -> Backfills:
        # Only who backfills needs what reads tables and SQL.
        from calve.backfill.service import Backfills

        return Backfills(self._orchestrator)

    def plan_backfill(self, body: Json) -> Json:
        """Plan a backfill."""
        from calve.backfill.acting import make_plan, read_body

        return make_plan(self._backfills, read_body(body), self._user)

    def list_backfills(self) -> list[Json]:
        """The newest backfills."""
        return self._backfills.list_all()

    def backfill(self, backfill_id: int) -> Json:
        """How a backfill stands."""
        return self._backfills.status(backfill_id)

    def backfill_plan(self, backfill_id: int) -> Json:
        """The plan of a backfill."""
        from calve.backfill.acting import plan_document

        return plan_document(self._backfills.get(backfill_id))

    def backfill_report(self, backfill_id: int) -> str:
        """What a backfill did."""
        return self._backfills.report(backfill_id)

    def act_on_backfill(self, backfill_id: int, action: str, options: Json) -> Json:
        """Act on a backfill."""
        from calve.backfill.acting import act

        return act(self._backfills, backfill_id, action, options, self._user)

    def is_engine_alive(self) -> bool:
        """Is an engine at work on this state?"""
        return any_engine_alive(self._orchestrator.database)

    @contextmanager
    def running_engine(self) -> Iterator[None]:
        """An engine in this process for as long as the block runs."""
        from calve.engine.core.engine import Engine

        engine = Engine(self._settings, self._orchestrator.database)
        engine.start()
        try:
            yield
        finally:
            engine.stop()

    def close(self) -> None:
        """Give back the connections."""
        self._orchestrator.database.close()


def _started(started: Started) -> Json:
    return {
        "workflow_id": started.workflow_id,
        "instance_id": started.instance_id,
        "run_id": started.run_id,
        "outcome": started.status.value,
    }
