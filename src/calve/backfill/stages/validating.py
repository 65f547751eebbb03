"""VALIDATING and WAITING: branch and main compared, and somebody's word that it may be published."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calve.backfill.stages.branch_check import check_branches
from calve.backfill.stages.jobs import run_job
from calve.backfill.stages.work import Work
from calve.backfill.statuses import Phase
from calve.backfill.store import read_backfill
from calve.errors import FailedError


def validate(work: Work) -> Work | None:
    """Compare all targets; None while that goes on. Raises VALIDATION_FAILED."""
    check_branches(work)
    reports: dict[str, Any] = {}
    wanted = [name for name, target in work.state.targets.items() if target.published_to is None]
    for table in wanted:
        report = run_job(work, f"compare/{table}", _job(work, table))
        if report is not None:
            reports[table] = report
    if len(reports) < len(wanted):
        return None
    state = replace(work.state, reports={**(work.state.reports or {}), **reports})
    failures = [f"{table}: {failure}" for table, report in reports.items() for failure in report["failures"]]
    if failures:
        work.save(Phase.VALIDATING, state)
        raise FailedError(
            "VALIDATION_FAILED",
            f"what '{work.stage.plan.workflow_id}' wrote is not published: {'; '.join(failures)}",
            f"look at `calve backfill report {work.backfill.id}`; mend the cause and retry, or cancel",
        )
    return work.save(Phase.WAITING, state)


def wait_for_approval(work: Work) -> Work | None:
    """Go on when it may be published: at once if that was asked for at the start."""
    with work.orchestrator.database.read() as connection:
        backfill = read_backfill(connection, work.backfill.id)
    if not (backfill.auto_publish or work.state.approved):
        return None
    return work.save(Phase.PUBLISHING, work.state)


def _job(work: Work, table: str) -> dict[str, Any]:
    checks = work.backfill.plan.validation
    keys = checks.keys.get(table)
    options = {
        "keys": None if keys is None else list(keys),
        "audits": [{"name": name, "sql": sql} for name, sql in checks.audits.items()],
        "thresholds": dict(checks.thresholds),
        "samples": checks.samples,
    }
    return {"action": "compare", "table": table, "branch": work.state.branch, "options": options}
