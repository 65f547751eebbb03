"""Where things are shown."""

from __future__ import annotations

from urllib.parse import quote, urlencode


def workflow_address(workflow_id: str) -> str:
    """The page of a workflow."""
    return f"/workflows/{_part(workflow_id)}"


def run_address(workflow_id: str, instance_id: int, run_id: int | None = None) -> str:
    """The page of a run; without its number, of the newest one of the instance."""
    instance = f"{workflow_address(workflow_id)}/instances/{instance_id}"
    return instance if run_id is None else f"{instance}/runs/{run_id}"


def step_address(
    workflow_id: str, instance_id: int, step_id: str, run: int | None = None, attempt: int | None = None
) -> str:
    """The page of a step; without more, of its newest attempt in the newest run."""
    return with_query(
        f"{run_address(workflow_id, instance_id)}/steps/{_part(step_id)}", run=run, attempt=attempt
    )


def table_address(name: str) -> str:
    """The page of a table."""
    return f"/tables/{_part(name)}"


def capture_address(capture_id: str) -> str:
    """The page of a capture."""
    return f"/captures/{_part(capture_id)}"


def backfill_address(backfill_id: int) -> str:
    """The page of a backfill."""
    return f"/backfills/{backfill_id}"


def with_query(path: str, **given: str | int | None) -> str:
    """A path with what is given of a query."""
    stated = {name: value for name, value in given.items() if value not in (None, "")}
    return f"{path}?{urlencode(stated)}" if stated else path


def _part(value: str) -> str:
    return quote(value, safe="")
