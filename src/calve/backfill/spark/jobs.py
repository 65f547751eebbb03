"""The jobs of a backfill as one function for steps: `main: calve.backfill.spark.jobs:run`.

param  job          {"action": "clear" | "compare" | "rebase", … the arguments of the function by name,
                    "result_file": where to put a result that may be large (optional)}
output result       what the function gives, as JSON text; with a `result_file`, what it is in short
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from calve.backfill.spark.clear import clear
from calve.backfill.spark.compare import compare
from calve.backfill.spark.options import CompareOptions
from calve.backfill.spark.rebase import rebase
from calve.errors import UsageError
from calve.spark.files import write_json

RESULT = "result"


def run(spark: Any, params: Mapping[str, Any]) -> dict[str, str]:
    """Do the job that the param `job` describes. Raises BACKFILL_JOB_INVALID."""
    job = _parse(params)
    action = _ACTIONS.get(str(job.pop("action", None)))
    if action is None:
        raise _wrong(f"the action is not one of {', '.join(_ACTIONS)}")
    file = job.pop("result_file", None)
    try:
        result = action(spark, job)
    except KeyError as error:
        raise _wrong(f"it has no {error}") from error
    if file is not None:
        write_json(Path(file), result)
        result = {name: result[name] for name in ("passed", "failures", "snapshot_id") if name in result}
    return {RESULT: json.dumps(result, allow_nan=False)}


def _parse(params: Mapping[str, Any]) -> dict[str, Any]:
    try:
        job = json.loads(params["job"])
    except (KeyError, TypeError, ValueError) as error:
        raise _wrong(f"it is no JSON text: {error}") from error
    if not isinstance(job, dict):
        raise _wrong(f"it is a {type(job).__name__}, expected an object")
    return job


def _clear(spark: Any, job: Mapping[str, Any]) -> dict[str, Any]:
    return clear(spark, job["table"], job.get("branch"), job["column"], job["ranges"], job["marker"])


def _compare(spark: Any, job: Mapping[str, Any]) -> dict[str, Any]:
    options = CompareOptions.from_json(job.get("options") or {})
    return compare(spark, job["table"], job["branch"], options).to_json()


def _rebase(spark: Any, job: Mapping[str, Any]) -> dict[str, Any]:
    target = job.get("target_branch", "main")
    found = rebase(
        spark, job["table"], job["branch"], job["base_snapshot"], job.get("keep"), target, job["marker"]
    )
    return {"snapshot_id": found}


_ACTIONS: dict[str, Callable[[Any, Mapping[str, Any]], dict[str, Any]]] = {
    "clear": _clear,
    "compare": _compare,
    "rebase": _rebase,
}


def _wrong(found: str) -> UsageError:
    return UsageError(
        "BACKFILL_JOB_INVALID", f"the param 'job' is wrong: {found}", "see calve.backfill.spark.jobs"
    )
