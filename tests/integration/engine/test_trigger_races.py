"""Several engines that look at the same tables: each change is answered once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import update

from calve.engine.triggers.tables.looking import Looker
from calve.state.database import Database
from calve.state.orchestration import runs
from support.engine_runs import EngineRuns, flow, noop
from support.ledgers import append, make_table
from support.table_triggers import capture, decision, instances, ledger_of

pytestmark = pytest.mark.slow

LOOKERS = 4
CHANGES = 5


@pytest.fixture
def calve(home: Path, engine_db: Database) -> EngineRuns:
    """A state on which no engine runs: who looks, and when, is up to the test."""
    return EngineRuns(home, engine_db)


class Crowd:
    """As many engines as look at the same moment; each on connections of its own."""

    def __init__(self, calve: EngineRuns) -> None:
        self._databases = [Database(calve.database.url) for _ in range(LOOKERS)]
        self._lookers = [Looker(calve.settings, database) for database in self._databases]

    def look(self) -> None:
        gate = threading.Barrier(LOOKERS)

        def look_at_once(looker: Looker) -> None:
            gate.wait()
            looker.look()

        with ThreadPoolExecutor(LOOKERS) as threads:
            list(threads.map(look_at_once, self._lookers))

    def close(self) -> None:
        for database in self._databases:
            database.close()


def test_however_many_look_a_change_starts_one_instance(calve: EngineRuns) -> None:
    crowd = Crowd(calve)
    with ledger_of(calve) as ledger:
        table = make_table(ledger)
        calve.push(flow(noop("a"), trigger={"incremental": "db.t"}))
        for number in range(1, CHANGES + 1):
            append(table, number)
            crowd.look()
            crowd.look()
            assert len(instances(calve)) == number
            _end_all(calve)
        crowd.look()
    crowd.close()
    assert len(instances(calve)) == CHANGES
    assert decision(calve)["what"] == "nothing"


def test_an_instance_that_was_restarted_meanwhile_counts_as_running(calve: EngineRuns) -> None:
    crowd = Crowd(calve)
    with ledger_of(calve) as ledger:
        table = make_table(ledger)
        calve.push(flow(capture("db.t"), trigger={"incremental": True}))
        append(table, 1)
        crowd.look()
        _end_all(calve, "FAILED")
        calve.restart(instances(calve)[0])
        append(table, 2)
        crowd.look()
    crowd.close()
    assert [(run.instance_id, run.run_id) for run in instances(calve)] == [(1, 1), (1, 2)]


def _end_all(calve: EngineRuns, status: str = "SUCCEEDED") -> None:
    with calve.database.write() as connection:
        connection.execute(update(runs).values(status=status))
