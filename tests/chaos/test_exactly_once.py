"""A crash at every point of capture → write → commit, and the target is what a full recompute gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from calve.lake.catalogs import Lake
from calve.settings import Settings
from calve.steps.incremental.shared import close_ledgers, ledger_of
from support.once_chain import (
    CAPTURE_POINTS,
    COMMIT_POINTS,
    FRAGILE,
    POINTS,
    STATEMENT_POINTS,
    WRITE_POINTS,
    Chain,
    Faults,
    crashing,
    install,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

GROUPS = 10
CHAINS_PER_GROUP = 10
DAYS = 6
#: No shuffle before a write: the tables are tiny.
PLAIN = "TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.merge.distribution-mode' = 'none')"
KEYS = 8
SCHEMA = pa.schema([pa.field("day", pa.int32()), pa.field("k", pa.int64()), pa.field("n", pa.int64())])

Row = tuple[int, int, int]
Rows = Counter[tuple[Any, ...]]


def append_script(names: Names, outputs: dict[str, Any]) -> str:
    changes = f"FROM {outputs['icdc_table']} WHERE true {FRAGILE} AND n >= 0"
    return f"""
        INSERT INTO {names.target} SELECT day, k, n {changes};
        INSERT INTO {names.other} SELECT count(*), sum(n) {changes}
    """


def merge_script(names: Names, outputs: dict[str, Any]) -> str:
    return f"""
        MERGE INTO {names.target} t
        USING (SELECT k, sum(n) AS n FROM {outputs["icdc_table"]} WHERE true {FRAGILE} GROUP BY k) s
        ON t.k = s.k
        WHEN MATCHED THEN UPDATE SET n = t.n + s.n
        WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, s.n)
    """


def range_script(names: Names, outputs: dict[str, Any]) -> str:
    """Running totals by day: all from the first changed day on is written anew."""
    totals = f"""
        SELECT day, n FROM (
            SELECT day, sum(sum(n)) OVER (ORDER BY day) AS n
            FROM {names.source} VERSION AS OF {outputs["to_snapshot_id"]} WHERE true {FRAGILE} GROUP BY day
        ) WHERE day >= {outputs["range_lower"]}
    """
    if names.in_two_statements:
        # Whole partitions go, so the delete reads and rewrites no file.
        delete = f"DELETE FROM {names.target} WHERE day >= {outputs['range_lower']}"
        return f"{delete}; INSERT INTO {names.target} {totals}"
    return f"INSERT INTO {names.target} REPLACE WHERE day >= {outputs['range_lower']} {totals}"


def appended(rows: Sequence[Row]) -> Rows:
    return Counter(rows)


def merged(rows: Sequence[Row]) -> Rows:
    sums: Counter[int] = Counter()
    for _, k, n in rows:
        sums[k] += n
    return Counter(sums.items())


def totals(rows: Sequence[Row]) -> Rows:
    days = sorted({day for day, _, _ in rows})
    return Counter((day, sum(n for other, _, n in rows if other <= day)) for day in days)


@dataclass(frozen=True)
class Kind:
    columns: str
    script: Callable[[Names, dict[str, Any]], str]
    recompute: Callable[[Sequence[Row]], Rows]
    partitioned: str = ""


KINDS = {
    "append": Kind("day INT, k BIGINT, n BIGINT", append_script, appended),
    "merge": Kind("k BIGINT, n BIGINT", merge_script, merged),
    "range": Kind("day INT, n BIGINT", range_script, totals, "PARTITIONED BY (day)"),
}


@dataclass
class Names:
    """The tables of a group, and what was put into the source, by snapshot."""

    lake: Lake
    namespace: str
    in_two_statements: bool
    has_two_writes: bool
    batches: list[tuple[int, list[Row]]] = field(default_factory=list)

    @property
    def source(self) -> str:
        return f"lake.{self.namespace}.source"

    @property
    def target(self) -> str:
        return f"lake.{self.namespace}.target"

    @property
    def other(self) -> str:
        return f"lake.{self.namespace}.other"

    def add(self, chance: random.Random) -> None:
        rows = [
            (chance.randrange(DAYS), chance.randrange(KEYS), chance.randrange(100))
            for _ in range(chance.randint(1, 8))
        ]
        columns = list(zip(*rows, strict=True))
        table = self.lake.catalog("lake").load_table(f"{self.namespace}.source")
        table.append(
            pa.table([pa.array(x, field.type) for x, field in zip(columns, SCHEMA, strict=True)], SCHEMA)
        )
        snapshot = table.current_snapshot()
        assert snapshot is not None
        self.batches.append((snapshot.snapshot_id, rows))

    def rows_up_to(self, snapshot_id: int) -> list[Row]:
        until = [key for key, _ in self.batches].index(snapshot_id)
        return [row for _, rows in self.batches[: until + 1] for row in rows]

    def read(self, name: str) -> Rows:
        table = self.lake.catalog("lake").load_table(name.removeprefix("lake."))
        return Counter(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


@pytest.fixture
def state(lake_settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """The lake of all tests, with a ledger of this one alone."""
    yield lake_settings.model_copy(update={"state_url": f"sqlite:///{tmp_path / 'state.db'}"})
    close_ledgers()


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    made = Faults()
    install(monkeypatch, made)
    return made


def run_chain(chain: Chain, names: Names, chance: random.Random, points: list[str]) -> None:
    """One chain through all its crashes, to its commit. A third of the crashes end the run for good."""
    chain.begin()
    phases = [(chain.capture, CAPTURE_POINTS), (chain.write, WRITE_POINTS), (chain.commit, COMMIT_POINTS)]
    at = 0
    while at < len(phases):
        run, its_points = phases[at]
        if points and points[0] in its_points:
            point = points.pop(0)
            # In a script of two statements, sometimes at the second.
            is_second = names.has_two_writes and point in STATEMENT_POINTS and chance.random() < 0.5
            chain.faults.arm(point, 2 if is_second else 1)
        with crashing() as crashed:
            run()
            at += 1
        chain.faults.point = None
        if not crashed:
            continue
        if chance.random() < 0.5:
            names.add(chance)
        committed = crashed[0] in ("after commit", "before tables are dropped")
        way = chance.choice(["retry", "restart", "new run"])
        if way == "restart":
            chain.restart()
        elif way == "new run" and not committed:
            chain.give_up()
            chain.begin()
            at = 0


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_target_equals_a_full_recompute_whatever_crashes(
    kind: str,
    group: int,
    spark: SparkSession,
    lake: Lake,
    namespace: str,
    state: Settings,
    faults: Faults,
    tmp_path: Path,
) -> None:
    chosen = KINDS[kind]
    seed = f"{kind}/{group}"
    chance = random.Random(seed)
    names = Names(lake, namespace, in_two_statements=group % 2 == 0, has_two_writes=kind == "append")
    spark.sql(f"CREATE TABLE {names.source} (day INT, k BIGINT, n BIGINT) USING iceberg")
    spark.sql(f"CREATE TABLE {names.target} ({chosen.columns}) USING iceberg {chosen.partitioned} {PLAIN}")
    spark.sql(f"CREATE TABLE {names.other} (rows BIGINT, n BIGINT) USING iceberg")
    params = {"source_tables": [names.source], "range_columns": ["day"]}
    chain = Chain(spark, state, tmp_path, params, lambda outputs: chosen.script(names, outputs), faults)
    committed = []
    for number in range(CHAINS_PER_GROUP):
        names.add(chance)
        points = sorted(chance.choices(POINTS, k=chance.randint(1, 3)), key=POINTS.index)
        print(f"seed {seed}, chain {number}: {points}")
        run_chain(chain, names, chance, list(points))
        record = ledger_of(state).get(chain.outputs["capture_id"]).record
        assert record.status.value == "committed"
        committed.append(record.changes[0])
        rows = names.rows_up_to(chain.outputs["to_snapshot_id"])
        assert names.read(names.target) == chosen.recompute(rows), (seed, number, faults.crashed)
    if kind == "append":
        assert sum(names.read(names.other).values()) == len(committed)
        assert names.read(names.other) == Counter(_other_rows(names, committed))
    assert faults.crashed
    print(f"seed {seed}: crashed at {Counter(faults.crashed)}")


def _other_rows(names: Names, committed: Sequence[Any]) -> Iterator[tuple[int, int]]:
    seen = 0
    for changes in committed:
        rows = names.rows_up_to(changes.to_snapshot_id)
        yield len(rows) - seen, sum(n for _, _, n in rows[seen:])
        seen = len(rows)
