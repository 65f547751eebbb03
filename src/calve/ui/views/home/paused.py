"""What somebody holds back: workflows that are paused, and steps at a breakpoint."""

from __future__ import annotations

from sqlalchemy import Connection, literal, select

from calve.engine.model.statuses import RunStatus
from calve.server.dependencies import Json
from calve.state.orchestration import runs, steps, workflows
from calve.ui.addresses import run_address, workflow_address
from calve.ui.views.home.line import LINES_LIMIT, line


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
    query = select(some).where(some.c.since.is_not(None)).order_by(some.c.since).limit(LINES_LIMIT)
    return [
        line(
            "PAUSED",
            row.workflow_id,
            "The workflow is paused, and instances of it are queued: none begins before it is resumed.",
            since=row.since,
            href=workflow_address(row.workflow_id),
            act="Workflow",
            command=f"calve resume {row.workflow_id}",
        )
        for row in connection.execute(query)
    ]


def paused_steps(connection: Connection) -> list[Json]:
    """Steps that a breakpoint holds."""
    held = (
        select(steps.c.run, steps.c.step_id)
        .where(steps.c.status == literal("PAUSED", literal_execute=True))
        .limit(LINES_LIMIT)
        .subquery()
    )
    query = select(
        held.c.step_id, runs.c.workflow_id, runs.c.instance_id, runs.c.paused, runs.c.created_at
    ).join(runs, runs.c.id == held.c.run)
    return [
        line(
            "PAUSED",
            row.workflow_id,
            f"Step '{row.step_id}' of instance {row.instance_id} is held by "
            + ("a pause of the instance." if row.paused else "a breakpoint."),
            since=row.created_at,
            href=run_address(row.workflow_id, row.instance_id),
            act=f"Instance {row.instance_id}",
        )
        for row in connection.execute(query)
    ]
