"""Waiting for runs: looks when the state has changed, not again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

from sqlalchemy import bindparam, select

from calve.engine.core.nudge import Waiter
from calve.engine.model.statuses import RunStatus
from calve.engine.views.documents import Json
from calve.engine.views.lookup import LATEST
from calve.engine.views.runs import run_summary
from calve.errors import FailedError, NotFoundError
from calve.state.database import Database
from calve.state.orchestration import runs

#: A change that nobody announced is seen after so long.
LOOK_S = 1.0
#: Between two looks for the eyes of a person.
GLANCE_S = 0.1
_STATUS = select(runs.c.status).where(runs.c.id == bindparam("run"))


def wait_for_run(database: Database, run: int, timeout_s: float | None = None) -> RunStatus:
    """The status that a run ends with; `run` is its key. RUN_TIMEOUT if it goes on for longer."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with closing(Waiter(database)) as waiter:
        while True:
            status = _status(database, run)
            if status.is_terminal:
                return status
            left = LOOK_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise FailedError(
                    "RUN_TIMEOUT",
                    f"the run is {status.value} after {timeout_s:g} s",
                    "wait longer, or stop it",
                )
            waiter.wait(min(LOOK_S, left))


def watch_run(
    database: Database, workflow_id: str, instance_id: int, run_id: str | int = LATEST
) -> Iterator[Json]:
    """The run as it is now, and again each time something may have changed, until it is over."""
    with closing(Waiter(database)) as waiter:
        while True:
            with database.read() as connection:
                summary = run_summary(connection, workflow_id, instance_id, run_id)
            yield summary
            if RunStatus(summary["status"]).is_terminal:
                return
            waiter.wait(LOOK_S)
            # Changes come in bursts, and one look is enough for a burst.
            time.sleep(GLANCE_S)


def _status(database: Database, run: int) -> RunStatus:
    with database.read() as connection:
        found = connection.execute(_STATUS, {"run": run}).scalar()
    if found is None:
        raise NotFoundError("RUN_NOT_FOUND", "the run is not there any more", "its workflow was deleted")
    return RunStatus(found)
