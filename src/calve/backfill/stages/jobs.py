"""Spark jobs of a backfill itself: instances of its jobs workflow, each asked for once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from calve.backfill.definitions import JOB_PARAM, JOB_STEP, RESULT
from calve.backfill.stages.work import Work
from calve.engine.model.requests import StartRequest
from calve.engine.model.statuses import RunStatus
from calve.engine.views.runs import run_summary
from calve.errors import CalveError, ConflictError, FailedError, RefusedError
from calve.workflow.params import ParamDefinition, ParamType

_KINDS: Mapping[str, type[CalveError]] = {"MAIN_MOVED": ConflictError, "REBASE_IMPOSSIBLE": RefusedError}


def run_job(work: Work, key: str, job: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer of a job, which is started if it was not; None while it runs.

    Raises what the job failed with. In a later run of the driver a job that failed is started anew.
    """
    request = StartRequest(
        workflow_id=work.backfill.jobs_workflow,
        request_id=work.request_id(key, work.state.round, work.attempt),
        author=work.backfill.author,
        params={JOB_PARAM: ParamDefinition(name=JOB_PARAM, type=ParamType.STRING, value=_literal(job))},
    )
    started = work.orchestrator.start(request)
    with work.orchestrator.database.read() as connection:
        found = run_summary(connection, started.workflow_id, started.instance_id)
    status = RunStatus(found["status"])
    if not status.is_terminal:
        return None
    step = found["steps"][JOB_STEP]
    if status is RunStatus.SUCCEEDED:
        answer: dict[str, Any] = json.loads(step["params"][RESULT])
        return answer
    error = step.get("error") or found["error"] or {}
    code = error.get("code", "BACKFILL_JOB_FAILED")
    raise _KINDS.get(code, FailedError)(
        code,
        f"{job['action']} of {job.get('table', work.stage.plan.workflow_id)}: "
        f"{error.get('message', status.value)}",
        error.get("remedy") or f"see `calve logs {started.workflow_id} {started.instance_id} {JOB_STEP}`",
    )


def _literal(job: Mapping[str, Any]) -> str:
    """The job as a text of a param, in which no `$` means another param."""
    return json.dumps(dict(job)).replace("$", "$$")
