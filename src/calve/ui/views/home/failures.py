"""Workflows that failed last, and sequences that a failure blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, ScalarSelect, Subquery, bindparam, select

from calve.backfill.lineage.loading import BACKFILL_PREFIX
from calve.engine.model.statuses import FAILED, RunStatus
from calve.engine.views.documents import load_map
from calve.server.dependencies import Json
from calve.state.orchestration import runs, steps, workflows
from calve.ui.addresses import run_address, with_query
from calve.ui.commands import command
from calve.ui.views.home.line import LINES_LIMIT, line, with_more

_COLUMNS = (
    runs.c.id, runs.c.workflow_id, runs.c.instance_id, runs.c.status, runs.c.error, runs.c.ended_at,
)  # fmt: skip
_TROUBLE = [RunStatus.FAILED.value, RunStatus.TIMED_OUT.value]
#: Among so many of the last failures those that still matter are looked for first.
_LOOK_BACK = 500


def blocked_workflows(connection: Connection) -> list[Json]:
    """Strict sequences in which a failed instance lets no other begin, the first to be blocked first."""
    # As a bare column, which is how the partial index says it; ordered by what has no index, so that
    # the database has no reason to take another one.
    query = select(*_COLUMNS).where(runs.c.blocking).order_by(runs.c.ended_at).limit(LINES_LIMIT + 1)
    rows = connection.execute(query).all()
    reasons = _reasons(connection, rows)
    lines = [
        line(
            "BLOCKED",
            row.workflow_id,
            f"Instance {row.instance_id} {_ended(row)}, and its strict sequence waits for somebody: "
            f"restart it, or unblock the workflow. {reasons[row.id]}",
            since=row.ended_at,
            href=run_address(row.workflow_id, row.instance_id),
            act=f"Instance {row.instance_id}",
            command=command("unblock", row.workflow_id),
        )
        for row in rows
    ]
    more = "Further strict sequences are blocked as well."
    return with_more(lines, _more("BLOCKED", more, "blocked", "All that are blocked"))


def failed_workflows(connection: Connection, but_not: Collection[str]) -> list[Json]:
    """Workflows whose newest instance went wrong, the latest first; those of backfills are told elsewhere."""
    rows = _newest_and_failed(connection, but_not)
    reasons = _reasons(connection, rows)
    lines = [
        line(
            row.status,
            row.workflow_id,
            f"Instance {row.instance_id} {_ended(row)}. {reasons[row.id]}",
            since=row.ended_at,
            href=run_address(row.workflow_id, row.instance_id),
            act=f"Instance {row.instance_id}",
        )
        for row in rows
    ]
    more = "The newest instances of further workflows failed as well."
    return with_more(lines, _more("FAILED", more, "failed", "All that failed"))


def _newest_and_failed(connection: Connection, but_not: Collection[str]) -> Sequence[Row[*tuple[Any, ...]]]:
    """The runs that went wrong and are the newest of their workflows; one more than is shown."""
    query = (
        select(*_COLUMNS)
        .where(
            runs.c.latest,
            ~runs.c.workflow_id.startswith(BACKFILL_PREFIX, autoescape=True),
            runs.c.workflow_id.not_in(list(but_not)),
        )
        .order_by(runs.c.ended_at.desc())
        .limit(LINES_LIMIT + 1)
    )
    some = _last_failures()
    newest = select(workflows.c.latest_instance_id).where(workflows.c.workflow_id == runs.c.workflow_id)
    among_last = query.where(runs.c.id.in_(select(some.c.id)), runs.c.instance_id == newest.scalar_subquery())
    rows = connection.execute(among_last).all()
    if len(rows) > LINES_LIMIT:
        return rows
    # Old failures may outnumber workflows by far, so these are looked up workflow by workflow.
    found = select(_newest_if_failed().label("run")).select_from(workflows).subquery()
    return connection.execute(query.select_from(found.join(runs, runs.c.id == found.c.run))).all()


def _last_failures() -> Subquery:
    """The failures that ended last, of whatever instances."""
    query = select(runs.c.id).where(runs.c.status.in_(_trouble()))
    return query.order_by(runs.c.ended_at.desc()).limit(_LOOK_BACK).subquery()


def _newest_if_failed() -> ScalarSelect[int]:
    """The newest run of the newest instance of a workflow, if it went wrong."""
    return (
        select(runs.c.id)
        .where(
            runs.c.workflow_id == workflows.c.workflow_id,
            runs.c.instance_id == workflows.c.latest_instance_id,
            runs.c.status.in_(_trouble()),
            runs.c.latest,
        )
        .limit(1)
        .scalar_subquery()
    )


def _trouble() -> BindParameter[list[str]]:
    """Statuses that stand in the text of a statement as in the partial indexes, so that these serve."""
    return bindparam("trouble", _TROUBLE, expanding=True, literal_execute=True)


def _ended(row: Row[*tuple[Any, ...]]) -> str:
    return "timed out" if row.status == RunStatus.TIMED_OUT else "failed"


def _more(status: str, why: str, state: str, act: str) -> Json:
    href = with_query("/workflows", state=state)
    return line(status, "More workflows", why, since=None, href=href, act=act)


def _reasons(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> dict[int, str]:
    """Why each run failed: by its own error, else by that of a step."""
    known = {row.id: str(load_map(row.error).get("message") or "") for row in rows}
    untold = [run for run, text in known.items() if not text]
    if not untold:
        return known
    query = select(steps.c.run, steps.c.step_id, steps.c.error).where(
        steps.c.run.in_(untold),
        steps.c.status.in_([status.value for status in FAILED]),
    )
    for step in connection.execute(query.order_by(steps.c.run, steps.c.created_at)):
        why = load_map(step.error).get("message")
        known[step.run] = known[step.run] or (f"Step '{step.step_id}': {why}" if why else "")
    return known
