"""What the home page shows, as rows of the state."""

from __future__ import annotations

import json

from sqlalchemy import insert, update

from calve.ledger.targets import settle_target
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import incremental_triggers, workflows
from calve.state.schema import capture_writes, captures
from support.engine_rows import push_jobs, set_run, start


def run(database: Database, workflow_id: str, status: str, **columns: object) -> int:
    """An instance with a status, as of now; the key of its run."""
    key = start(database, workflow_id).run
    ended = None if status in ("CREATED", "IN_PROGRESS") else now_ms()
    times = {"created_at": now_ms() - 1000, "started_at": now_ms() - 900, "ended_at": ended}
    set_run(database, key, status=status, ready=False, **(times | columns))
    return key


def trigger(database: Database, workflow_id: str, what: str, **columns: object) -> None:
    """A workflow with a trigger on tables that came to a decision."""
    push_jobs(database, workflow_id, "a")
    decision = {"what": what, "why": "because", "next_look": columns.pop("next_look", None), "tables": []}
    text = json.dumps(decision, separators=(",", ":"))
    with database.write() as connection:
        connection.execute(
            insert(incremental_triggers).values(
                workflow_id=workflow_id, trigger_uuid="t", definition="{}", active=True, seen="{}",
                decision=text, **columns,
            )
        )  # fmt: skip
        connection.execute(update(workflows).values(active_version=1))


def written(database: Database, target: str, at: int, run_ref: str | None) -> None:
    """A write under a capture that has landed."""
    capture = f"{target}-{at}"
    with database.write() as connection:
        connection.execute(
            insert(captures).values(
                id=capture, consumer="c", status="committed", request="{}", owner="o", run_ref=run_ref,
                keep=False, created_at=at,
            )
        )  # fmt: skip
        connection.execute(
            insert(capture_writes).values(
                capture_id=capture, statement="s/1", target=target, text_hash="h", begun_at=at,
                snapshot_id=1, landed_at=at,
            )
        )  # fmt: skip
        settle_target(connection, target)
