"""Engines that die by `kill -9` at every point of a backfill, each once, while regular runs go on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pyarrow as pa
import pytest

from calve.lake import open_table
from calve.spark import host
from calve.spark.once.scope import STATEMENT_PROPERTY
from calve.state.database import Database
from calve.steps.incremental.shared import close_ledgers
from support import engine_runs as engines
from support.backfill_pipeline import (
    ALL_OPERATIONS,
    FIRST,
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
INSERT = (
    "INSERT INTO db.{table} SELECT day, id, account, secs * {factor} AS secs FROM ${{capture__icdc_table}}"
)
TALLY = "SELECT account, sum(secs) AS secs, count(*) AS plays FROM :source GROUP BY account"
TABLES = """
CREATE TABLE IF NOT EXISTS db.copy (day DATE, id BIGINT, account STRING, secs INT)
  USING iceberg PARTITIONED BY (day);
CREATE TABLE IF NOT EXISTS db.tally (account STRING, secs BIGINT, plays BIGINT) USING iceberg
"""
DAYS = 30
WORKFLOWS = ("daily", "by_account", "by_day", "tally", "summary")
TARGETS = (*WORKFLOWS, "copy")
ONE_OF_TWO = "PUBLISHING again: after save to PUBLISHING targets half"
#: Some that a backfill must survive: if one is not passed any more, the test has lost its point.
SURVIVED = (
    "PREPARING: after create_branch",
    "PREPARING: after add_chunks",
    "RUNNING: after start_all",
    "RUNNING: a chunk is under way",
    "VALIDATING: asked for compare",
    "PUBLISHING again: after hold_consumers",
    "PUBLISHING again: after fast_forward",
    ONE_OF_TWO,
    "PUBLISHING: asked for publish",
    "REPLAYING again: answered kept",
    "PUBLISHED: over",
)
T = TypeVar("T")


class Mortals(EngineRuns):
    """The state that engines of other processes work on, as long as they live."""

    def __init__(self, home: Path, database: Database) -> None:
        super().__init__(home, database)
        self.mortal = MortalEngine(home)
        #: What happens while there is no engine, by the point at which the last one died.
        self.meanwhile: dict[str, Callable[[], None]] = {}

    def until(self, look: Callable[[], T | None], say: Callable[[], str] = lambda: "it did not come") -> T:
        def look_after() -> T | None:
            self.mortal.look_after(lambda point: self.meanwhile.get(point, lambda: None)())
            return look()

        return super().until(look_after, say)


class AdditivePipeline(Pipeline):
    """The chain, with a first table that is only appended to, a copy of it that the same workflow writes,
    and totals that are only added to."""

    calve: Mortals

    def make(self, factor: int = 1) -> None:
        super().make(factor)
        self.sql(TABLES)
        changes = capture(["db.daily"], data_operations=ALL_OPERATIONS, on_empty="skip")
        added = {"additive": ["secs", "plays"], "count_column": "plays"}
        self.calve.push(workflow("tally", changes, aggregate("tally", ["account"], TALLY, **added)))

    def push(self, factor: int = 1) -> None:
        super().push(factor)
        script = ";\n".join(INSERT.format(table=table, factor=factor) for table in ("daily", "copy"))
        self.calve.push(workflow("daily", capture(["db.events"], on_empty="skip"), statements(script)))

    def run_all(self) -> None:
        for name in WORKFLOWS:
            self.run(name)

    def fill(self, *days: int) -> None:
        self.add(*((number, key, "ab"[key % 2], 10 * key) for number in days for key in range(1, 4)))
        self.run("daily")

    def begin_all(self) -> None:
        """Regular runs that nobody waits for."""
        for name in ("daily", "by_account", "tally"):
            self.calve.start(name)

    def write_past(self, stage: dict[str, Any]) -> None:
        """Somebody else writes the target that is not published yet."""
        (name,) = [x for x, target in stage["targets"].items() if target["published_to"] is None]
        table = self.ledger.lake.catalog("lake").load_table(name.removeprefix("lake."))
        row = {"day": FIRST + timedelta(days=1), "id": 99, "account": "nobody", "secs": 1}
        table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))

    def check_sums(self) -> None:
        assert self.rows("copy") == self.rows("daily")
        totals: dict[str, list[int]] = defaultdict(list)
        for _, _, account, secs in self.events:
            totals[account].append(secs)
        assert self.rows("tally") == sorted((who, sum(x), len(x)) for who, x in totals.items())

    def branches(self) -> set[str]:
        lake = self.ledger.lake
        return {branch for name in TARGETS for branch in open_table(lake, f"db.{name}").metadata.refs()}

    def repeated(self) -> list[tuple[str, str]]:
        """Statements that landed more than once."""
        found: list[tuple[str, str]] = []
        for name in TARGETS:
            metadata = open_table(self.ledger.lake, f"db.{name}").metadata
            head = metadata.current_snapshot_id("main")
            assert head is not None
            marks = Counter(x.summary.get(STATEMENT_PROPERTY) for x in metadata.ancestry(head))
            found += [(name, mark) for mark, times in marks.items() if mark is not None and times > 1]
        return found

    def lag(self) -> dict[str, int]:
        found = [behind.to_json() for behind in self.ledger.lag()]
        return {x["consumer"]: x["snapshots"] for x in found if x["snapshots"]}

    def check_all(self) -> None:
        """After a round of regular runs all is as a rebuild would make it, and nothing is left to do."""
        self.run_all()
        self.check()
        self.check_sums()
        assert self.lag() == {}
        assert self.branches() == {"main"}
        assert self.repeated() == []


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


def replay_at_every_point(pipe: AdditivePipeline) -> None:
    """A backfill of all that is downstream; main moves in its range, also when it is half published."""
    planned = pipe.plan(0, DAYS, auto_publish=False, chunk="5files")
    assert len(pipe.backfills.get(planned).plan.stages[0].chunks) == DAYS // 5

    def come_late() -> None:
        pipe.add((2, 11, "c", 11))
        pipe.begin_all()

    pipe.calve.meanwhile = {
        "RUNNING: a chunk is under way": come_late,
        ONE_OF_TWO: lambda: pipe.write_past(pipe.backfills.status(planned)["stages"][0]),
    }
    pipe.backfills.start(planned, "ada")
    pipe.until_waiting(planned)
    # Inside of the range and outside of it.
    pipe.add((1, 7, "c", 4), (DAYS, 7, "c", 4))
    pipe.run("daily")
    pipe.backfills.approve(planned, later_too=True)
    done = pipe.finish(planned)
    assert done["stages"][0]["round"] == 3
    pipe.check_all()


def rebase_at_every_point(pipe: AdditivePipeline) -> None:
    """Main moves outside of the range only: what was written is put on top of it as it is."""
    planned = pipe.plan(0, 2, auto_publish=False, downstream=["by_account"])
    pipe.backfills.start(planned, "ada")
    pipe.until_waiting(planned)
    pipe.add((3, 8, "a", 2))
    pipe.run("daily")
    pipe.backfills.approve(planned, later_too=True)
    done = pipe.finish(planned)
    assert done["stages"][0]["round"] == 1


def write_main_at_every_point(pipe: AdditivePipeline) -> None:
    """Without branches."""
    planned = pipe.plan(1, 3, on_branch=False, downstream=["tally"])
    pipe.backfills.start(planned, "ada")
    pipe.add((2, 21, "b", 5), (3, 21, "b", 5))
    pipe.finish(planned)
    pipe.check_all()


def test_engines_that_die_at_every_point_lose_nothing_and_repeat_nothing(home: Path) -> None:
    with mortal_pipeline(home) as pipe:
        pipe.make(factor=3)
        pipe.fill(*range(DAYS))
        pipe.push(factor=1)
        pipe.fill(DAYS)
        pipe.run_all()
        replay_at_every_point(pipe)
        rebase_at_every_point(pipe)
        write_main_at_every_point(pipe)
        deaths = pipe.calve.mortal.deaths
        assert set(SURVIVED) <= set(deaths), sorted(deaths)
        assert len(deaths) == len(set(deaths))
    assert left_of(home) == []
