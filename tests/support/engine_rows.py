"""Rows of the orchestrator for tests of the read side: real pushes and starts, statuses set by hand."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import insert, select, update

from calve.engine.actions.start import start_instance
from calve.engine.catalog.push import push
from calve.engine.model.requests import Started, StartRequest
from calve.state.database import Database
from calve.state.orchestration import events, runs, steps
from calve.workflow.definition import load_yaml

NOW = 1_700_000_000_000


def push_yaml(database: Database, text: str, author: str = "alice") -> int:
    """Push a definition; its version."""
    definition = load_yaml(text).definition
    with database.write() as connection:
        return push(connection, definition, author, NOW).version


def push_jobs(database: Database, workflow_id: str, *job_ids: str, **keys: str) -> int:
    """Push a workflow of NoOp jobs, one after the other."""
    more = "".join(f"  {key}: {value}\n" for key, value in keys.items())
    jobs = "".join(f"    - job: {{id: {job_id}, type: NoOp}}\n" for job_id in job_ids)
    text = f"Workflow:\n  id: {workflow_id}\n{more}  jobs:\n{jobs}  dag: sequential\n"
    return push_yaml(database, text)


def start(database: Database, workflow_id: str, **more: Any) -> Started:
    """Start an instance; no engine runs it."""
    with database.write() as connection:
        return start_instance(connection, StartRequest(workflow_id=workflow_id, **more), NOW)


def set_run(database: Database, run: int, **columns: Any) -> None:
    """Change columns of a run."""
    with database.write() as connection:
        connection.execute(update(runs).where(runs.c.id == run).values(**columns))


def add_run(database: Database, like: int, **columns: Any) -> int:
    """A further run with the columns of another one, but for those that are given."""
    with database.write() as connection:
        row = connection.execute(select(runs).where(runs.c.id == like)).mappings().one()
        values = {key: value for key, value in row.items() if key != "id"} | columns
        made = connection.execute(insert(runs).values(values)).inserted_primary_key
    assert made is not None
    return int(made[0])


def add_step(
    database: Database, run: int, step_id: str, status: str, attempt_id: int = 1, **columns: Any
) -> None:
    """An attempt of a step, with the event of its way there."""
    values: dict[str, Any] = {
        "uuid": f"{run}-{step_id}-{attempt_id}",
        "carried": False,
        "params": "{}",
        "retries": "{}",
        "created_at": NOW,
    }
    with database.write() as connection:
        connection.execute(
            insert(steps).values(
                {
                    **values,
                    **columns,
                    "run": run,
                    "step_id": step_id,
                    "attempt_id": attempt_id,
                    "status": status,
                }
            )
        )
        row = connection.execute(select(runs).where(runs.c.id == run)).one()
        connection.execute(
            insert(events).values(
                at=NOW,
                kind="step",
                workflow_id=row.workflow_id,
                run=run,
                instance_id=row.instance_id,
                run_id=row.run_id,
                step_id=step_id,
                attempt_id=attempt_id,
                data=json.dumps({"path": [["CREATED", NOW], ["INITIALIZED", NOW + 1], [status, NOW + 2]]}),
            )
        )


def evaluated(**values: Any) -> str:
    """Evaluated params as a column keeps them."""
    types = {str: "STRING", int: "LONG"}
    return json.dumps(
        {
            name: {
                "value": value,
                "type": types[type(value)],
                "evaluated_result": value,
                "evaluated_time": NOW,
            }
            for name, value in values.items()
        }
    )
