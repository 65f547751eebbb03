"""Engines that die by `kill -9` at every point of a backfill, each once, while regular runs go on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from calve.lake import open_table
from calve.spark import host
from calve.spark.once.scope import STATEMENT_PROPERTY
from calve.state.database import Database
from calve.steps.incremental.shared import close_ledgers
from support import engine_runs as engines
from support.backfill_pipeline import (
    ALL_OPERATIONS,
    NAMES,
    SETTINGS,
    Pipeline,
    aggregate,
    capture,
    statements,
    workflow,
)
from support.engine_runs import EngineRuns
from support.mortal_engine import MortalEngine
from support.states import place_state

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

#: Rows that are written twice stay twice, and sums that are added to twice are wrong.
INSERT = "INSERT INTO db.daily SELECT day, id, account, secs * {factor} FROM ${{capture__icdc_table}}"
TALLY = "SELECT account, sum(secs) AS secs, count(*) AS plays FROM :source GROUP BY account"
WORKFLOWS = ("daily", "by_account", "by_day", "tally", "summary")
#: Of those that a backfill must survive: if one is not passed any more, the test has lost its point.
SURVIVED = (
    "PREPARING: after create_branch",
    "PREPARING: after add_chunks",
    "RUNNING: after start_all",
    "RUNNING: a chunk is under way",
    "VALIDATING: asked for compare",
    "PUBLISHING: after hold_consumers",
    "PUBLISHING: after fast_forward",
    "PUBLISHING: answered publish",
    "REPLAYING again: answered kept",
    "PUBLISHED: over",
)
T = TypeVar("T")


class Mortals(EngineRuns):
    """The state that engines of other processes work on, as long as they live."""

    def __init__(self, home: Path, database: Database) -> None:
        super().__init__(home, database)
        self.mortal = MortalEngine(home, len(WORKFLOWS))

    def until(self, look: Callable[[], T | None], say: Callable[[], str] = lambda: "it did not come") -> T:
        def look_after() -> T | None:
            self.mortal.look_after()
            return look()

        return super().until(look_after, say)


class AdditivePipeline(Pipeline):
    """The chain, in which daily is only appended to, and with totals that are only added to."""

    calve: Mortals

    def make(self, factor: int = 1) -> None:
        super().make(factor)
        self.sql("CREATE TABLE db.tally (account STRING, secs BIGINT, plays BIGINT) USING iceberg")
        changes = capture(["db.daily"], data_operations=ALL_OPERATIONS, on_empty="skip")
        added = {"additive": ["secs", "plays"], "count_column": "plays"}
        self.calve.push(workflow("tally", changes, aggregate("tally", ["account"], TALLY, **added)))

    def push(self, factor: int = 1) -> None:
        super().push(factor)
        events = capture(["db.events"], on_empty="skip")
        self.calve.push(workflow("daily", events, statements(INSERT.format(factor=factor))))

    def run_all(self) -> None:
        for name in WORKFLOWS:
            self.run(name)

    def check(self, factor: int = 1) -> None:
        super().check(factor)
        totals: dict[str, list[int]] = defaultdict(list)
        for _, _, account, secs in self.events:
            totals[account].append(secs * factor)
        assert self.rows("tally") == sorted((who, sum(x), len(x)) for who, x in totals.items())

    def branches(self) -> set[str]:
        lake = self.ledger.lake
        return {x for name in (*NAMES, "tally") for x in open_table(lake, f"db.{name}").metadata.refs()}

    def repeated(self) -> list[tuple[str, str]]:
        """Statements that landed more than once."""
        found: list[tuple[str, str]] = []
        for name in (*NAMES, "tally"):
            metadata = open_table(self.ledger.lake, f"db.{name}").metadata
            head = metadata.current_snapshot_id("main")
            assert head is not None
            marks = Counter(x.summary.get(STATEMENT_PROPERTY) for x in metadata.ancestry(head))
            found += [(name, mark) for mark, times in marks.items() if mark is not None and times > 1]
        return found

    def lag(self) -> dict[str, int]:
        found = [behind.to_json() for behind in self.ledger.lag()]
        return {x["consumer"]: x["snapshots"] for x in found if x["snapshots"]}


@contextmanager
def mortal_pipeline(home: Path) -> Iterator[AdditivePipeline]:
    database = Database(place_state(home))
    (home / "calve.toml").write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engines, "DEADLINE_S", 600.0)
        calve = Mortals(home, database)
        try:
            yield AdditivePipeline(calve)
        finally:
            calve.mortal.end()
            host.stop(calve.settings)
            close_ledgers()
            database.close()


def left_of(home: Path) -> list[Any]:
    """Processes that have to do with a home."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(str(home) in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_engines_that_die_at_every_point_lose_nothing_and_repeat_nothing(home: Path) -> None:
    with mortal_pipeline(home) as pipe:
        pipe.make(factor=3)
        for number in range(3):
            pipe.add(*((number, key, "ab"[key % 2], 10 * key) for key in range(1, 4)))
        pipe.run_all()
        pipe.push(factor=1)
        pipe.add(*((3, key, "ab"[key % 2], 10 * key) for key in range(1, 4)))
        pipe.run_all()
        planned = pipe.plan(0, 3, auto_publish=False)
        pipe.backfills.start(planned, "ada")
        pipe.until_waiting(planned)
        # Late rows inside of the range and outside of it: the stage is written again where they came to.
        pipe.add((1, 7, "c", 4), (3, 7, "c", 4))
        pipe.run("daily")
        pipe.backfills.approve(planned)
        pipe.until_waiting(planned)
        # Rows outside of the range: what the stages downstream wrote is put on top of them as it is.
        pipe.add((3, 8, "a", 2))
        for name in WORKFLOWS:
            pipe.run(name)
        pipe.backfills.approve(planned, later_too=True)
        done = pipe.finish(planned)
        deaths = pipe.calve.mortal.deaths
        pipe.run_all()
        pipe.check()
        assert pipe.lag() == {}
        assert pipe.branches() == {"main"}
        assert pipe.repeated() == []
        assert done["stages"][0]["round"] == 2
        assert set(SURVIVED) <= set(deaths), deaths
    assert left_of(home) == []
