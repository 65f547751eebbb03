"""All that can be asked of backfills, in one place: what the CLI and the REST API stand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from calve.backfill.definitions import at_once, driver_definition, jobs_definition
from calve.backfill.lineage.loading import load_lineage
from calve.backfill.planning.cautions import with_cautions
from calve.backfill.planning.planner import Planner
from calve.backfill.records import Backfill
from calve.backfill.report import report_markdown
from calve.backfill.request import BackfillRequest
from calve.backfill.stages.work import Work
from calve.backfill.status import backfill_status, backfill_summary
from calve.backfill.statuses import BackfillStatus, Phase, refusal
from calve.backfill.step import stop_chunks
from calve.backfill.store import (
    add_backfill,
    change_backfill,
    change_status,
    keep_status,
    list_backfills,
    live_stages,
    read_backfill,
    read_stages,
    save_stage,
)
from calve.backfill.world import check_world
from calve.engine.actions.control import latest_run
from calve.engine.catalog.rows import has_workflow
from calve.engine.model.requests import RestartRequest, StartRequest
from calve.engine.model.statuses import RunStatus
from calve.engine.orchestrator import Orchestrator
from calve.errors import RefusedError, UsageError
from calve.lake import open_table
from calve.lake.branches import drop_branch
from calve.ledger.holds import drop_holds_of
from calve.ledger.ledger import Ledger
from calve.state.clock import now_ms
from calve.steps.incremental.shared import ledger_of
from calve.workflow.definition.properties import Properties

MOST_AT_ONCE = 100
Json = dict[str, Any]


class Backfills:
    """Plans, and what becomes of them. Nothing runs in here: the engine does that."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator
        self._database = orchestrator.database

    @property
    def ledger(self) -> Ledger:
        """The ledger of the same home."""
        settings = self._orchestrator.settings.model_copy(update={"state_url": self._database.url})
        return ledger_of(settings)

    # Plans

    def plan(self, request: BackfillRequest, author: str, auto_publish: bool = False) -> Backfill:
        """Make a plan and keep it. Raises what is wrong with the request."""
        _check_concurrency(request.concurrency)
        ledger = self.ledger
        with self._database.read() as connection:
            lineage = load_lineage(connection, ledger.settings)
        plan = with_cautions(ledger, Planner(ledger, lineage).plan(request))
        with self._database.write() as connection:
            return add_backfill(
                connection,
                plan,
                author=author,
                reason=request.reason,
                auto_publish=auto_publish,
                concurrency=request.concurrency,
            )

    def get(self, backfill_id: int) -> Backfill:
        """A backfill by its number."""
        with self._database.read() as connection:
            return read_backfill(connection, backfill_id)

    def list_all(self, limit: int = 100) -> list[Json]:
        """The newest backfills."""
        found: list[Json] = self.list_page(limit)["backfills"]
        return found

    def list_page(self, limit: int = 100, cursor: str | None = None) -> Json:
        """The newest backfills after `cursor`, which is `next_cursor` of the page before."""
        with self._database.read() as connection:
            found, following = list_backfills(connection, limit, cursor)
        return {"backfills": [backfill_summary(one) for one in found], "next_cursor": following}

    def status(self, backfill_id: int) -> Json:
        """How a backfill stands, with stages and chunks."""
        with self._database.read() as connection:
            return backfill_status(connection, backfill_id)

    def report(self, backfill_id: int) -> str:
        """What a backfill did, as Markdown."""
        return report_markdown(self.status(backfill_id))

    # What becomes of them

    def start(self, backfill_id: int, author: str, auto_publish: bool | None = None) -> Backfill:
        """Run a plan, if the world is still as it found it. Raises PLAN_STALE, BACKFILL_OVERLAP or
        BACKFILL_<STATUS>."""
        found = self.get(backfill_id)
        if found.status is BackfillStatus.RUNNING and found.instance_id is None:
            # Whoever started it died before it had a driver.
            return self._drive(found, author)
        if found.status is not BackfillStatus.PLANNED:
            raise refusal(backfill_id, found.status, "started")
        with self._database.read() as connection:
            check_world(connection, self.ledger.lake, found.plan)
        more = {} if auto_publish is None else {"auto_publish": auto_publish}
        with self._database.write() as connection:
            self._refuse_overlap(connection, found)
            started = change_status(
                connection, backfill_id, BackfillStatus.RUNNING, "started", started_at=now_ms(), **more
            )
        return self._drive(started, author)

    def _drive(self, backfill: Backfill, author: str) -> Backfill:
        """Have an instance of the driver; the same one if there is one already."""
        self._orchestrator.push_all([driver_definition(backfill), jobs_definition(backfill)], author)
        request = StartRequest(
            workflow_id=backfill.driver, author=author, request_id=f"{backfill.driver}-{backfill.created_at}"
        )
        instance = self._orchestrator.start(request).instance_id
        with self._database.write() as connection:
            change_backfill(connection, backfill.id, instance_id=instance)
            return read_backfill(connection, backfill.id)

    def pause(self, backfill_id: int, author: str) -> Backfill:
        """Begin no further chunk; those that run go on to their end."""
        with self._database.write() as connection:
            found = keep_status(connection, backfill_id, BackfillStatus.PAUSED, "paused")
        for workflow_id in self._chunk_workflows(found):
            self._orchestrator.pause(workflow_id, author)
        return found

    def resume(self, backfill_id: int, author: str) -> Backfill:
        """Go on after a pause."""
        if self.get(backfill_id).status is BackfillStatus.FAILED:
            return self.retry(backfill_id, author)
        with self._database.write() as connection:
            found = keep_status(connection, backfill_id, BackfillStatus.RUNNING, "resumed")
        for workflow_id in self._chunk_workflows(found):
            self._orchestrator.resume(workflow_id, author)
        return found

    def retry(self, backfill_id: int, author: str) -> Backfill:
        """Go on after a failure: chunks that failed run again, those that are done do not."""
        with self._database.write() as connection:
            found = read_backfill(connection, backfill_id, lock=True)
            instance = found.instance_id
            # One that is running, with a driver that is over, was being retried by somebody who died.
            if instance is None or found.status.is_over or not _is_over(connection, found.driver, instance):
                raise RefusedError(
                    f"BACKFILL_{found.status.value}",
                    f"backfill {backfill_id} is {found.status.value.lower()}: there is nothing to retry yet",
                    f"see `calve backfill status {backfill_id}`",
                )
            found = keep_status(connection, backfill_id, BackfillStatus.RUNNING, "retried", ended_at=None)
        request = RestartRequest(workflow_id=found.driver, instance_id=instance, author=author)
        self._orchestrator.restart(request)
        return found

    def cancel(self, backfill_id: int, author: str) -> Backfill:
        """Stop what runs. What is published stays published; branches stay until `discard`."""
        with self._database.write() as connection:
            found = keep_status(connection, backfill_id, BackfillStatus.CANCELLED, "cancelled")
            stages = read_stages(connection, found)
        if found.instance_id is not None:
            try:
                self._orchestrator.end_instance(found.driver, found.instance_id, author)
            except RefusedError as error:
                if error.code != "INSTANCE_OVER":
                    raise
        for stage in stages:
            work = Work(found, stage, self._orchestrator, self.ledger, _silent)
            if stage.phase not in (Phase.PLANNED, Phase.PUBLISHED):
                stop_chunks(work)
        with self._database.write() as connection:
            drop_holds_of(connection, backfill_id)
        return found

    def discard(self, backfill_id: int) -> list[str]:
        """Drop the branches of a cancelled backfill; their names."""
        found = self.get(backfill_id)
        if found.status is not BackfillStatus.CANCELLED:
            raise RefusedError(
                f"BACKFILL_{found.status.value}",
                f"backfill {backfill_id} is {found.status.value.lower()}: its branches are needed",
                f"cancel it first with `calve backfill cancel {backfill_id}`",
            )
        dropped = []
        with self._database.read() as connection:
            stages = read_stages(connection, found)
        for stage in stages:
            for name in stage.state.targets:
                table = open_table(self.ledger.lake, name)
                for branch in (*stage.state.old_branches, stage.state.branch):
                    if branch is not None and branch in table.metadata.refs():
                        drop_branch(table, branch)
                        dropped.append(f"{name}.branch_{branch}")
        return dropped

    def set_concurrency(self, backfill_id: int, concurrency: int, author: str) -> Backfill:
        """Let so many chunks run at a time from now on."""
        _check_concurrency(concurrency)
        with self._database.write() as connection:
            found = read_backfill(connection, backfill_id, lock=True)
            change_backfill(connection, backfill_id, concurrency=concurrency)
        for workflow_id in self._chunk_workflows(found):
            changes = Properties(run_strategy=at_once(concurrency))
            self._orchestrator.set_properties(workflow_id, changes, author)
        return self.get(backfill_id)

    def approve(self, backfill_id: int, *, later_too: bool = False) -> list[str]:
        """Let the stages that wait be published, and with `later_too` those that come; the workflows."""
        approved = []
        with self._database.write() as connection:
            found = read_backfill(connection, backfill_id, lock=True)
            if later_too:
                change_backfill(connection, backfill_id, auto_publish=True)
            for stage in read_stages(connection, found):
                if stage.phase is Phase.WAITING:
                    save_stage(connection, stage, stage.phase, replace(stage.state, approved=True))
                    approved.append(stage.plan.workflow_id)
        if not approved and not later_too:
            raise RefusedError(
                "NOTHING_TO_PUBLISH",
                f"no stage of backfill {backfill_id} waits to be published",
                f"see `calve backfill status {backfill_id}`",
            )
        return approved

    def validate_again(self, backfill_id: int) -> list[str]:
        """Compare the stages that wait once more; the workflows."""
        again = []
        with self._database.write() as connection:
            found = read_backfill(connection, backfill_id, lock=True)
            for stage in read_stages(connection, found):
                if stage.phase is Phase.WAITING:
                    save_stage(
                        connection,
                        stage,
                        Phase.VALIDATING,
                        replace(stage.state, approved=False, reports=None),
                    )
                    again.append(stage.plan.workflow_id)
        return again

    def _refuse_overlap(self, connection: Any, found: Backfill) -> None:
        names = [stage.workflow_id for stage in found.plan.stages]
        for other, stage in live_stages(connection, found.id, names):
            raise RefusedError(
                "BACKFILL_OVERLAP",
                f"backfill {other.id} is {other.status.value.lower()} on '{stage.plan.workflow_id}' too",
                f"wait until it is done, or cancel it with `calve backfill cancel {other.id}`",
            )

    def _chunk_workflows(self, backfill: Backfill) -> Sequence[str]:
        names = [backfill.chunk_workflow(ordinal) for ordinal in range(len(backfill.plan.stages))]
        with self._database.read() as connection:
            return [name for name in names if has_workflow(connection, name)]


def _is_over(connection: Connection, workflow_id: str, instance_id: int) -> bool:
    return RunStatus(latest_run(connection, workflow_id, instance_id).status).is_terminal


def _check_concurrency(concurrency: int) -> None:
    if not 1 <= concurrency <= MOST_AT_ONCE:
        raise UsageError(
            "CONCURRENCY_INVALID", f"found a concurrency of {concurrency}", f"give 1 to {MOST_AT_ONCE}"
        )


def _silent(_: str) -> None:
    """Nobody listens."""
