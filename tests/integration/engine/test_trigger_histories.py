"""Random histories of tables, runs and looks: every row is captured once, and no run starts for nothing."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from calve.engine.triggers.tables.decision import What
from calve.engine.triggers.tables.looking import Looker
from calve.ledger.ledger import Ledger
from calve.state.database import Database
from calve.state.orchestration import runs
from support.engine_runs import EngineRuns, flow
from support.ledgers import append, make_table
from support.states import place_state
from support.table_triggers import COMMIT, capture, decision, instances, ledger_of

pytestmark = pytest.mark.slow

CONSUMER = "w/capture"
TABLES = ("db.a", "db.b")


class History:
    """Two tables, two engines that look at them, and runs that end as they are told to."""

    def __init__(self, calve: EngineRuns, ledger: Ledger) -> None:
        self.calve = calve
        self.tables = [make_table(ledger, name) for name in TABLES]
        self.ledger = ledger
        calve.push(flow(capture(*TABLES), COMMIT, dag="sequential", trigger={"incremental": True}))
        self.lookers = [Looker(calve.settings, calve.database) for _ in range(2)]
        self.ids = itertools.count(1)
        self.captured: list[int] = []

    def append(self, table: int, rows: int) -> None:
        append(self.tables[table], *itertools.islice(self.ids, rows))

    def delete(self, table: int) -> None:
        """Something that an append capture does not take."""
        if self.tables[table].refresh().current_snapshot() is not None:
            self.tables[table].delete("id <= 2")

    def look(self, engine: int) -> None:
        known = len(self._unfinished())
        behind = self._rows_behind()
        before = len(instances(self.calve))
        self.lookers[engine].look()
        started = len(instances(self.calve)) - before
        assert started <= (0 if known else 1)
        assert not started or behind, "started for nothing"

    def end(self, commits: bool) -> None:
        """The run captures, and commits or fails."""
        if not self._unfinished():
            return
        taken = self.ledger.capture(*TABLES, consumer=CONSUMER)
        if commits:
            taken.commit()
            self.captured.append(sum(changes.records for changes in taken.sources))
        else:
            taken.release()
        with self.calve.database.write() as connection:
            connection.execute(update(runs).values(status="SUCCEEDED" if commits else "FAILED"))

    def settle(self) -> None:
        """From here on runs succeed; a last change gets past what failed before."""
        self.append(0, 1)
        for _ in range(4):
            self.look(0)
            self.end(commits=True)
        self.look(1)
        assert decision(self.calve)["what"] == What.NOTHING

    def _unfinished(self) -> list[Any]:
        return [run for run in instances(self.calve) if run.status in ("CREATED", "IN_PROGRESS")]

    def _rows_behind(self) -> bool:
        known = {found.position.table_name: found.lag for found in self.ledger.lag()}
        waiting = [known.get(f"lake.{name}") for name in TABLES]
        return any(lag is None or lag.snapshots for lag in waiting)


EVENTS = st.lists(
    st.tuples(st.just("append"), st.integers(0, 1), st.integers(1, 3))
    | st.tuples(st.just("delete"), st.integers(0, 1))
    | st.tuples(st.just("look"), st.integers(0, 1))
    | st.tuples(st.just("end"), st.booleans()),
    max_size=14,
)


@settings(max_examples=15)
@given(EVENTS)
def test_every_row_is_captured_once_and_no_run_starts_for_nothing(events: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        database = Database(place_state(home))
        calve = EngineRuns(home, database)
        with ledger_of(calve) as ledger:
            history = History(calve, ledger)
            for name, *arguments in events:
                getattr(history, name)(*arguments)
            history.settle()
            assert sum(history.captured) == next(history.ids) - 1
        database.close()
