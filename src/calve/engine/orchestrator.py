"""All that can be asked of Calve's workflows, in one place: what the CLI and the REST API stand on.

Each method is one transaction. Afterwards engines are woken, wherever they run; the orchestrator itself
runs nothing.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, insert, select, update

from calve.engine.actions import control
from calve.engine.actions.restart import restart_run
from calve.engine.actions.start import start_instance
from calve.engine.catalog import breakpoints, deletion, permits, properties, push, templates, workflows
from calve.engine.catalog.breakpoints import Breakpoint, Place
from calve.engine.catalog.push import Pushed
from calve.engine.catalog.versions import load_definition
from calve.engine.core.nudge import Waiter, announce, nudge
from calve.engine.model.commands import Command
from calve.engine.model.requests import Params, RestartPolicy, RestartRequest, Started, StartRequest
from calve.engine.model.statuses import RunStatus
from calve.engine.outbox import dump
from calve.engine.places import workflow_place
from calve.engine.signals import sending, watermarks
from calve.engine.signals.model import Signal, SignalSent
from calve.engine.views.triggers import workflow_triggers
from calve.errors import NotFoundError, RefusedError
from calve.settings import Settings
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import commands, output_data
from calve.steps.templates import JobTemplate
from calve.workflow.definition import JobTypes, WorkflowDefinition
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.tags import Tag

#: How long `wait_for_command` waits for the owning engine, as in Maestro's blocking actions.
BLOCKING_S = 5.0


class Orchestrator:
    """Definitions, instances, steps, signals, limits. Thread-safe."""

    def __init__(self, settings: Settings, database: Database | None = None) -> None:
        self.settings = settings
        self.database = database or Database(settings.state_url)

    # Definitions

    def job_types(self) -> JobTypes:
        """The types that jobs may have: step types and job templates."""
        with self.database.read() as connection:
            return templates.job_types(connection)

    def push(self, definition: WorkflowDefinition, author: str) -> Pushed:
        """Keep a new version of a workflow."""
        return self.push_all([definition], author)[0]

    def push_all(self, definitions: Sequence[WorkflowDefinition], author: str) -> list[Pushed]:
        """Keep new versions of several workflows, or of none."""
        with self._change() as connection:
            return [push.push(connection, definition, author, now_ms()) for definition in definitions]

    def activate(self, workflow_id: str, version: str | int, author: str) -> int:
        """Make a version the one that triggers and starts use; its number."""
        with self._change() as connection:
            return workflows.activate(connection, workflow_id, version, author, now_ms())

    def deactivate(self, workflow_id: str, author: str) -> int | None:
        """Let the triggers rest; the version that was active."""
        with self._change() as connection:
            return workflows.deactivate(connection, workflow_id, author, now_ms())

    def pause(self, workflow_id: str, author: str) -> None:
        """Hold the queue of a workflow: instances gather, and none begins."""
        with self._change() as connection:
            workflows.pause(connection, workflow_id, author, now_ms())

    def resume(self, workflow_id: str, author: str) -> None:
        """Let the queue of a workflow go on."""
        with self._change() as connection:
            workflows.resume(connection, workflow_id, author, now_ms())

    def delete(self, workflow_id: str, author: str) -> None:
        """Delete a workflow with all its history."""
        done = False
        while not done:
            with self._change() as connection:
                done = deletion.delete_workflow(connection, workflow_id, author, now_ms())
        # One that is pushed anew counts its instances from 1: it must not find files of other ones.
        shutil.rmtree(workflow_place(self.settings, workflow_id), ignore_errors=True)

    def set_properties(self, workflow_id: str, changes: Properties, author: str) -> Properties:
        """Change properties; what is not stated stays."""
        with self._change() as connection:
            return properties.set_properties(connection, workflow_id, changes, author, now_ms())

    def add_tag(self, workflow_id: str, tag: Tag, author: str) -> Properties:
        """Add a tag to the properties."""
        with self._change() as connection:
            return properties.add_tag(connection, workflow_id, tag, author, now_ms())

    def remove_tag(self, workflow_id: str, name: str, author: str) -> Properties:
        """Take a tag from the properties."""
        with self._change() as connection:
            return properties.remove_tag(connection, workflow_id, name, author, now_ms())

    def triggers(self, workflow_id: str) -> dict[str, Any]:
        """The triggers of the active version, and why each on tables last did, or did not, start a run."""
        with self.database.read() as connection:
            return workflow_triggers(connection, workflow_id)

    def put_template(self, document: Mapping[str, Any], author: str) -> JobTemplate:
        """Keep a job template."""
        with self._change() as connection:
            return templates.put_template(connection, document, author, now_ms())

    def get_template(self, job_type: str, version: str | None = None) -> dict[str, Any]:
        """The document of a job template."""
        with self.database.read() as connection:
            return templates.get_template(connection, job_type, version)

    def list_templates(self) -> list[dict[str, Any]]:
        """All job templates."""
        with self.database.read() as connection:
            return templates.list_templates(connection)

    def delete_template(self, job_type: str, version: str | None = None) -> None:
        """Delete a job template."""
        with self._change() as connection:
            templates.delete_template(connection, job_type, version)

    # Instances

    def start(self, request: StartRequest) -> Started:
        """Queue a new instance."""
        with self._change() as connection:
            return start_instance(connection, request, now_ms())

    def start_all(self, requests: Sequence[StartRequest]) -> list[Started]:
        """Queue several instances in one transaction, or none."""
        with self._change() as connection:
            return [start_instance(connection, request, now_ms()) for request in requests]

    def restart(self, request: RestartRequest, run_id: int | None = None) -> Started:
        """Queue a further run of an instance that is over."""
        with self._change() as connection:
            row = control.latest_run(connection, request.workflow_id, request.instance_id, run_id)
            return restart_run(connection, row, request, now_ms())

    def end_instance(
        self, workflow_id: str, instance_id: int, author: str, kill: bool = False, run_id: int | None = None
    ) -> int | None:
        """Stop (→ STOPPED) or kill (→ FAILED) an instance; the command to wait for, None if it is done."""
        with self._change() as connection:
            row = control.latest_run(connection, workflow_id, instance_id, run_id)
            return control.end_instance(connection, row, kill, author, now_ms())

    def end_workflow(self, workflow_id: str, author: str, kill: bool = False) -> int:
        """Stop or kill all instances of a workflow; how many there were."""
        with self._change() as connection:
            return control.end_workflow(connection, workflow_id, kill, author, now_ms())

    def unblock(self, workflow_id: str, instance_id: int | None = None) -> int:
        """Let a strict sequence go on past failed instances; how many there were."""
        with self._change() as connection:
            return control.unblock(connection, workflow_id, instance_id, now_ms())

    def pause_instance(self, workflow_id: str, instance_id: int, author: str, paused: bool = True) -> int:
        """Hold the steps of an instance that have not begun, or let them go on; the command to wait for."""
        with self._change() as connection:
            row = control.latest_run(connection, workflow_id, instance_id)
            return control.pause_instance(connection, row, paused, author, now_ms())

    # Steps

    def act_on_step(
        self,
        kind: Command,
        workflow_id: str,
        instance_id: int,
        step_id: str,
        author: str,
        params: Params | None = None,
    ) -> int | Started:
        """Stop, kill, skip, bypass, restart or resume a step; see `Command` for the kinds.

        The command to wait for. On an instance that is over, skip and restart make a further run instead.
        """
        with self._change() as connection:
            row = control.latest_run(connection, workflow_id, instance_id)
            self._check_step(connection, row, step_id)
            if RunStatus(row.status).is_terminal:
                return self._act_on_over(connection, row, kind, step_id, author, params or {})
            return control.act_on_step(connection, row, step_id, kind, author, now_ms(), params)

    def wait_for_command(self, command: int, timeout_s: float = BLOCKING_S) -> bool:
        """Wait until a command is carried out; refused if it could not be, false if it takes longer."""
        deadline = time.monotonic() + timeout_s
        waiter = Waiter(self.database)
        try:
            while True:
                with self.database.read() as connection:
                    row = connection.execute(select(commands).where(commands.c.id == command)).one()
                if row.refusal is not None:
                    raise RefusedError(
                        "ACTION_REFUSED",
                        f"the action was not carried out: {row.refusal}",
                        "look at its status",
                    )
                left = deadline - time.monotonic()
                if row.done_at is not None or left <= 0:
                    return row.done_at is not None
                waiter.wait(left)
        finally:
            waiter.close()

    def add_breakpoint(self, place: Place, author: str) -> Breakpoint:
        """Hold a step before it runs."""
        with self._change() as connection:
            return breakpoints.add_breakpoint(connection, place, author, now_ms())

    def list_breakpoints(self, workflow_id: str, step_id: str | None = None) -> list[Breakpoint]:
        """The breakpoints of a workflow."""
        with self.database.read() as connection:
            return breakpoints.list_breakpoints(connection, workflow_id, step_id)

    def delete_breakpoint(self, place: Place, author: str, resume: bool = False) -> int:
        """Take a breakpoint away, and let go what it holds if asked to; how many attempts that were."""
        with self._change() as connection:
            breakpoints.delete_breakpoint(connection, place)
            return control.resume_held(connection, place, author, now_ms()) if resume else 0

    # Tables

    def lag(self, consumer: str | None = None, table: str | None = None) -> list[dict[str, Any]]:
        """What each consumer has not processed yet, in each table."""
        # Only who asks for tables needs what reads them.
        from calve.steps.incremental.shared import ledger_of

        settings = self.settings.model_copy(update={"state_url": self.database.url})
        return [behind.to_json() for behind in ledger_of(settings).lag(consumer=consumer, table=table)]

    def valid_through(self, table: str) -> dict[str, Any]:
        """Up to which moment a table is complete."""
        with self.database.read() as connection:
            return watermarks.describe(connection, self._full_name(table))

    def publish_valid_through(self, table: str, value: str | int) -> dict[str, Any]:
        """Say up to which moment a table is complete; gives the greatest that was ever said."""
        name = self._full_name(table)
        with self._change() as connection:
            watermarks.publish(connection, name, value, now_ms())
            return watermarks.describe(connection, name)

    def _full_name(self, table: str) -> str:
        from calve.lake.catalogs import Lake

        return str(Lake(self.settings).resolve(table))

    # Signals, limits, outputs

    def send_signal(
        self, name: str, params: Mapping[str, str | int], payload: Mapping[str, Any], request_id: str | None
    ) -> SignalSent:
        """Send a signal; the same one again is a duplicate, and changes nothing."""
        with self._change() as connection:
            return sending.send(connection, name, params, payload, None, request_id, now_ms())

    def get_signal(self, name: str, seq_id: int | str = sending.LATEST) -> Signal:
        """A signal by its number, or the newest one of a name."""
        with self.database.read() as connection:
            return sending.get(connection, name, seq_id)

    def set_permit(self, tag: str, max_allowed: int) -> None:
        """Limit how many steps with a tag run at a time."""
        with self._change() as connection:
            permits.set_permit(connection, tag, max_allowed)

    def get_permit(self, tag: str) -> int:
        """The limit of a tag."""
        with self.database.read() as connection:
            return permits.get_permit(connection, tag)

    def delete_permit(self, tag: str) -> None:
        """Limit a tag no longer."""
        with self._change() as connection:
            permits.delete_permit(connection, tag)

    def put_output(
        self, job_type: str, job_id: str, params: Mapping[str, Any], artifacts: Mapping[str, Any]
    ) -> None:
        """Keep what an external job gave back, until its step takes it."""
        payload = dump({"params": params, "artifacts": artifacts})
        where = (output_data.c.job_type == job_type, output_data.c.job_id == job_id)
        with self._change() as connection:
            values = {"payload": payload, "created_at": now_ms()}
            if not connection.execute(update(output_data).where(*where).values(values)).rowcount:
                connection.execute(insert(output_data).values(job_type=job_type, job_id=job_id, **values))

    @contextmanager
    def _change(self) -> Iterator[Connection]:
        with self.database.write() as connection:
            yield connection
            announce(connection)
        nudge(self.database)

    def _act_on_over(
        self, connection: Connection, row: Any, kind: Command, step_id: str, author: str, params: Params
    ) -> Started:
        if kind not in (Command.STEP_SKIP, Command.STEP_RESTART):
            raise RefusedError(
                "INSTANCE_OVER",
                f"instance {row.instance_id} of '{row.workflow_id}' is {row.status} already",
                "restart it, or restart or skip one of its steps",
            )
        skips = kind == Command.STEP_SKIP
        request = RestartRequest(
            workflow_id=row.workflow_id,
            instance_id=row.instance_id,
            policy=RestartPolicy.RESTART_FROM_INCOMPLETE if skips else RestartPolicy.RESTART_FROM_SPECIFIC,
            step_id=None if skips else step_id,
            skip=(step_id,) if skips else (),
            step_params={step_id: params} if params else {},
            author=author,
        )
        return restart_run(connection, row, request, now_ms())

    def _check_step(self, connection: Connection, row: Any, step_id: str) -> None:
        if row.inline:
            return
        definition = load_definition(connection, row.workflow_id, row.version)
        known = [step.id for step in definition.workflow.steps]
        if step_id not in known:
            raise NotFoundError(
                "STEP_NOT_FOUND",
                f"'{row.workflow_id}' has no step '{step_id}'",
                f"name one of {', '.join(known)}",
            )
