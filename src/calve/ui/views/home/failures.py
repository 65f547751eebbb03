"""Workflows that failed last, and sequences that a failure blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, ScalarSelect, bindparam, literal, select

from calve.backfill.lineage.loading import BACKFILL_PREFIX
from calve.engine.model.statuses import FAILED, RunStatus
from calve.engine.views.documents import load_map
from calve.server.dependencies import Json
from calve.state.orchestration import runs, steps, workflows
from calve.ui.addresses import run_address, workflow_address
from calve.ui.views.home.line import LINES_LIMIT, line

_COLUMNS = (
    runs.c.id, runs.c.workflow_id, runs.c.instance_id, runs.c.status, runs.c.error, runs.c.ended_at,
)  # fmt: skip
_TROUBLE = [RunStatus.FAILED.value, RunStatus.TIMED_OUT.value]


def blocked_workflows(connection: Connection) -> list[Json]:
    """Strict sequences in which a failed instance lets no other begin, the first to be blocked first."""
    # As a bare column, which is how the partial index says it; ordered by what has no index, so that
    # the database has no reason to take another one.
    query = select(*_COLUMNS).where(runs.c.blocking).order_by(runs.c.ended_at).limit(LINES_LIMIT)
    rows = connection.execute(query).all()
    reasons = _reasons(connection, rows)
    return [
        line(
            "BLOCKED",
            row.workflow_id,
            f"Instance {row.instance_id} {_ended(row)}, and its strict sequence waits for somebody: "
            f"restart it, or unblock the workflow. {reasons[row.id]}",
            since=row.ended_at,
            href=run_address(row.workflow_id, row.instance_id),
            act=f"Instance {row.instance_id}",
            command=f"calve unblock {row.workflow_id}",
        )
        for row in rows
    ]


def failed_workflows(connection: Connection, but_not: Collection[str]) -> list[Json]:
    """Workflows whose newest instance went wrong, the latest first; those of backfills are told elsewhere."""
    # Workflow by workflow into the small index of what failed: there are far fewer workflows than failures.
    found = select(_newest_if_failed().label("run")).select_from(workflows).subquery()
    own = runs.c.workflow_id.startswith(BACKFILL_PREFIX, autoescape=True)
    query = (
        select(*_COLUMNS)
        .select_from(found.join(runs, runs.c.id == found.c.run))
        .where(~own, runs.c.workflow_id.not_in(list(but_not)))
    )
    rows = connection.execute(query.order_by(runs.c.ended_at.desc()).limit(LINES_LIMIT + 1)).all()
    reasons = _reasons(connection, rows[:LINES_LIMIT])
    lines = [
        line(
            row.status,
            row.workflow_id,
            f"Instance {row.instance_id} {_ended(row)}. {reasons[row.id]}",
            since=row.ended_at,
            href=run_address(row.workflow_id, row.instance_id),
            act=f"Instance {row.instance_id}",
        )
        for row in rows[:LINES_LIMIT]
    ]
    return [*lines, _more()] if len(rows) > LINES_LIMIT else lines


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


def _newest_if_failed() -> ScalarSelect[int]:
    """The newest run of the newest instance of a workflow, if it went wrong."""
    # The statuses stand in the text of the statement as in the partial index, so that it serves.
    trouble: BindParameter[list[str]] = bindparam("trouble", _TROUBLE, expanding=True, literal_execute=True)
    return (
        select(runs.c.id)
        .where(
            runs.c.workflow_id == workflows.c.workflow_id,
            runs.c.instance_id == workflows.c.latest_instance_id,
            runs.c.status.in_(trouble),
            runs.c.latest,
        )
        .limit(1)
        .scalar_subquery()
    )


def _ended(row: Row[*tuple[Any, ...]]) -> str:
    return "timed out" if row.status == RunStatus.TIMED_OUT else "failed"


def _more() -> Json:
    return line(
        "FAILED",
        "More workflows",
        "The newest instances of further workflows failed as well.",
        since=None,
        href="/workflows?state=failed",
        act="All that failed",
    )


def _reasons(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> dict[int, str]:
    """Why each run failed: by its own error, else by that of a step."""
    known = {row.id: str(load_map(row.error).get("message") or "") for row in rows}
    query = select(steps.c.run, steps.c.step_id, steps.c.error).where(
        steps.c.run.in_([run for run, text in known.items() if not text]),
        steps.c.status.in_([status.value for status in FAILED]),
    )
    for step in connection.execute(query.order_by(steps.c.run, steps.c.created_at)):
        why = load_map(step.error).get("message")
        known[step.run] = known[step.run] or (f"Step '{step.step_id}': {why}" if why else "")
    return known
