"""What somebody holds back: workflows that are paused, and steps at a breakpoint."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, literal, select

from calve.engine.model.statuses import RunStatus
from calve.server.dependencies import Json
from calve.state.orchestration import runs, steps, workflows
from calve.ui.addresses import run_address, step_address, with_query, workflow_address
from calve.ui.commands import command
from calve.ui.views.home.line import LINES_LIMIT, line, with_more


def paused_workflows(connection: Connection) -> list[Json]:
    """Workflows that are paused while instances of theirs are in the queue."""
    queued = (
        select(runs.c.created_at)
        .where(
            runs.c.workflow_id == workflows.c.workflow_id,
            runs.c.status == literal(RunStatus.CREATED.value, literal_execute=True),
        )
        .order_by(runs.c.instance_id)
        .limit(1)
        .scalar_subquery()
    )
    some = select(workflows.c.workflow_id, queued.label("since")).where(workflows.c.paused).subquery()
    query = select(some).where(some.c.since.is_not(None)).order_by(some.c.since).limit(LINES_LIMIT + 1)
    lines = [
        line(
            "PAUSED",
            row.workflow_id,
            "The workflow is paused, and instances of it are queued: none begins before it is resumed.",
            since=row.since,
            href=workflow_address(row.workflow_id),
            act="Workflow",
            command=command("resume", row.workflow_id),
        )
        for row in connection.execute(query)
    ]
    more = "Further workflows are paused while instances of theirs are queued."
    href = with_query("/workflows", state="paused")
    return with_more(
        lines, line("PAUSED", "More workflows", more, since=None, href=href, act="All that are paused")
    )


def paused_steps(connection: Connection) -> list[Json]:
    """Steps that a breakpoint holds."""
    held = (
        select(steps.c.run, steps.c.step_id, steps.c.created_at)
        .where(steps.c.status == literal("PAUSED", literal_execute=True))
        .limit(LINES_LIMIT + 1)
        .subquery()
    )
    query = select(held, runs.c.workflow_id, runs.c.instance_id, runs.c.paused).join(
        runs, runs.c.id == held.c.run
    )
    lines = [_held(row) for row in connection.execute(query.order_by(held.c.created_at))]
    more = "Further steps are held as well."
    href = with_query("/runs", status=RunStatus.IN_PROGRESS.value)
    return with_more(
        lines, line("PAUSED", "More steps", more, since=None, href=href, act="All runs in progress")
    )


def _held(row: Row[Any]) -> Json:
    """A step is held as soon as it is made. It is let go on its own page, or with its whole instance."""
    by, act = "a breakpoint", f"Step {row.step_id}"
    href = step_address(row.workflow_id, row.instance_id, row.step_id)
    if row.paused:
        by, act = "a pause of the instance", f"Instance {row.instance_id}"
        href = run_address(row.workflow_id, row.instance_id)
    why = f"Step '{row.step_id}' of instance {row.instance_id} is held by {by}."
    return line("PAUSED", row.workflow_id, why, since=row.created_at, href=href, act=act)
