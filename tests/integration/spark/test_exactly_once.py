"""Statements that land once, on a real Spark: what is marked, what is skipped, and what runs again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from calve.settings import Settings
from calve.spark.once.guard import Guard
from calve.spark.once.landing import Noted
from calve.spark.once.marking import SESSION_KEY
from calve.spark.once.notes import Notes, hash_text
from calve.spark.once.scope import Scope
from calve.spark.once.tables import JvmTables, NotIcebergError, SqlTables
from calve.spark.step.board import Board, NoMeter
from calve.spark.step.script import run_script
from calve.spark.targets import write_of
from calve.spark.user import StepScope
from calve.steps.contract import Ending
from calve.steps.writes import texts_of
from support.guarded import GuardedSpark, GuardedSql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .conftest import Begin

SCOPE = Scope((("cap_1", "write"),))


class Bench:
    """Scripts that run again and again, each time as a further attempt of the same step."""

    def __init__(self, spark: SparkSession, namespace: str, folder: Path) -> None:
        self.spark = spark
        self.table = f"lake.{namespace}.t"
        self.folder = folder
        self.said: list[str] = []

    def guard(self, script: str = "", noted: dict[str, Noted] | None = None) -> Guard:
        texts = texts_of(script)
        writes = {name: write for name, text in texts.items() if (write := write_of(text)) is not None}
        self.said.clear()
        return Guard(
            SCOPE, JvmTables(self.spark), Notes(self.folder), self.said.append, noted or {}, script=writes
        )

    def run(self, script: str, noted: dict[str, Noted] | None = None) -> Guard:
        guard = self.guard(script, noted)
        run_script(self.spark, script, Board(self.folder, NoMeter()), self.said.append, guard)
        return guard

    def step(self) -> StepScope:
        return StepScope(self.spark, {}, {}, self.said.append, self.guard())

    def sql(self, text: str) -> list[Any]:
        return [tuple(row) for row in self.spark.sql(text.format(t=self.table)).collect()]

    def rows(self) -> list[Any]:
        return sorted(self.sql("SELECT * FROM {t}"))

    def markers(self) -> list[str | None]:
        state = JvmTables(self.spark).state(tuple(self.table.split(".")))
        return [] if state is None else [snapshot.marker for snapshot in state.snapshots]

    def skipped(self) -> int:
        return sum(line.endswith(": skipped") for line in self.said)


@pytest.fixture
def bench(spark: SparkSession, namespace: str, tmp_path: Path) -> Iterator[Bench]:
    yield Bench(spark, namespace, tmp_path)
    assert spark.conf.get(SESSION_KEY, None) is None


def test_every_statement_that_makes_a_snapshot_marks_it(bench: Bench) -> None:
    script = f"""
        CREATE TABLE {bench.table} USING iceberg PARTITIONED BY (d) AS SELECT 1 AS id, 'a' AS d, 1 AS n;
        INSERT INTO {bench.table} VALUES (2, 'a', 2), (3, 'b', 3), (4, 'c', 4);
        INSERT OVERWRITE {bench.table} PARTITION (d = 'b') SELECT 7, 7;
        INSERT OVERWRITE {bench.table} PARTITION (d = 'none') SELECT 7, 7 WHERE false;
        INSERT INTO {bench.table} REPLACE WHERE d = 'c' SELECT 4, 'c', 5;
        MERGE INTO {bench.table} t USING (SELECT 1 AS id) s ON t.id = s.id
            WHEN MATCHED THEN UPDATE SET n = t.n + 1;
        MERGE INTO {bench.table} t USING (SELECT 9 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE;
        UPDATE {bench.table} SET n = 0 WHERE id = 2;
        DELETE FROM {bench.table} WHERE id = 2;
        DELETE FROM {bench.table} WHERE d = 'b';
        TRUNCATE TABLE {bench.table};
        CREATE OR REPLACE TABLE {bench.table} USING iceberg AS SELECT 5 AS id
    """
    notes = bench.run(script).notes.notes
    assert bench.markers() == [f"cap_1/write/{number}" for number in range(1, 13)]
    assert all(note.snapshot_id is not None and note.target == bench.table for note in notes.values())
    bench.sql("INSERT INTO {t} VALUES (6)")
    assert bench.markers()[-1] is None
    bench.run(script)
    # What the last statement replaced is in no branch any more, and is not made again either.
    assert bench.rows() == [(5,), (6,)]


def test_a_script_that_runs_again_writes_nothing_again(bench: Bench) -> None:
    script = f"""
        CREATE TABLE IF NOT EXISTS {bench.table} (k INT, n INT) USING iceberg PARTITIONED BY (k);
        DELETE FROM {bench.table} WHERE k > 0;
        INSERT INTO {bench.table} VALUES (1, 1), (2, 2);
        MERGE INTO {bench.table} t USING (SELECT 1 AS k, 5 AS n) s ON t.k = s.k
            WHEN MATCHED THEN UPDATE SET n = t.n + s.n
    """
    for _ in range(3):
        bench.run(script)
        assert bench.rows() == [(1, 6), (2, 2)]
    assert bench.skipped() == 3
    changed = bench.run(script.replace("(2, 2)", "(3, 3)"), {"3": Noted(hash_text("before"), None)})
    assert bench.rows() == [(1, 6), (2, 2)]
    assert any("another text" in line for line in bench.said)
    assert changed.notes.notes["3"].found


def test_a_delete_without_a_marker_is_not_repeated_over_what_came_after_it(bench: Bench) -> None:
    script = f"DELETE FROM {bench.table} WHERE k > 0; INSERT INTO {bench.table} VALUES (1)"
    bench.sql("CREATE TABLE {t} (k INT) USING iceberg PARTITIONED BY (k)")
    # As on a Spark Connect server, where a delete of whole files gets no marker.
    bench.sql("INSERT INTO {t} VALUES (7)")
    bench.sql("DELETE FROM {t} WHERE k > 0")
    only_insert = bench.guard(script)
    insert = script.split("; ")[1]
    with only_insert.unless_landed(bench.spark, "2", only_insert.script["2"], insert):
        bench.spark.sql(insert)
    bench.run(script)
    assert bench.rows() == [(1,)]
    assert "[1/2] came before statement 2, which has landed: skipped" in bench.said


def test_a_staging_table_that_the_script_makes_anew_is_filled_anew(bench: Bench) -> None:
    staging = f"{bench.table}_staging"
    script = f"""
        DROP TABLE IF EXISTS {staging};
        CREATE TABLE {staging} USING iceberg AS SELECT 1 AS k;
        INSERT INTO {staging} VALUES (2);
        INSERT INTO {bench.table} SELECT * FROM {staging};
        SELECT count(*) AS n FROM {staging}
    """
    bench.sql("CREATE TABLE {t} (k INT) USING iceberg")
    for _ in range(2):
        guard = bench.run(script)
        assert bench.rows() == [(1,), (2,)]
        assert bench.sql(f"SELECT count(*) FROM {staging}") == [(2,)]
    assert bench.skipped() == 1
    noted = {
        name: Noted(note.text_hash, note.snapshot_id, note.landed_ms)
        for name, note in guard.notes.notes.items()
    }
    bench.run(script, noted)
    assert bench.sql(f"SELECT count(*) FROM {staging}") == [(2,)]
    assert bench.rows() == [(1,), (2,)]


def test_a_write_that_was_rolled_back_runs_again_and_one_whose_snapshot_expired_does_not(
    bench: Bench,
) -> None:
    script = f"INSERT INTO {bench.table} VALUES (1)"
    bench.sql("CREATE TABLE {t} (k INT) USING iceberg")
    bench.sql("INSERT INTO {t} VALUES (0)")
    before = bench.sql("SELECT snapshot_id FROM {t}.snapshots")[0][0]
    note = bench.run(script).notes.notes["1"]
    noted = {"1": Noted(note.text_hash, note.snapshot_id, note.landed_ms)}
    name = bench.table.removeprefix("lake.")
    bench.spark.sql(f"CALL lake.system.rollback_to_snapshot('{name}', {before})")
    assert bench.rows() == [(0,)]
    bench.run(script, noted)
    assert bench.rows() == [(0,), (1,)]
    note = bench.guard(script).notes.notes.get("1", note)
    bench.sql("INSERT INTO {t} VALUES (2)")
    bench.spark.sql(
        f"CALL lake.system.expire_snapshots(table => '{name}', older_than => now(), retain_last => 1)"
    )
    assert "cap_1/write/1" not in bench.markers()
    bench.run(script, noted)
    assert bench.rows() == [(0,), (1,), (2,)]
    assert bench.skipped() == 1


def test_a_branch_that_was_dropped_is_written_again(bench: Bench) -> None:
    script = f"INSERT INTO {bench.table}.branch_audit VALUES (1)"
    bench.sql("CREATE TABLE {t} (k INT) USING iceberg")
    bench.sql("INSERT INTO {t} VALUES (0)")
    for expected in (0, 1, 0):
        bench.sql("ALTER TABLE {t} CREATE BRANCH IF NOT EXISTS audit")
        bench.run(script)
        assert bench.skipped() == expected
        assert bench.sql("SELECT count(*) FROM {t}.branch_audit") == [(2,)]
        if expected:
            bench.sql("ALTER TABLE {t} DROP BRANCH audit")
    name = bench.table.removeprefix("lake.")
    bench.spark.sql(f"CALL lake.system.fast_forward('{name}', 'main', 'audit')")
    bench.sql("ALTER TABLE {t} DROP BRANCH audit")
    bench.run(script)
    assert bench.skipped() == 1
    assert bench.rows() == [(0,), (1,)]


def test_dataframes_are_written_once(bench: Bench) -> None:
    spark = bench.spark
    bench.sql("CREATE TABLE {t} (k INT, n INT) USING iceberg PARTITIONED BY (k)")

    def job(step: StepScope) -> list[int | None]:
        return [
            step.write_once(spark.sql("SELECT 1 AS k, 1 AS n UNION ALL SELECT 2, 2"), bench.table),
            step.write_once(spark.sql("SELECT 2 AS k, 9 AS n"), bench.table, "overwrite_partitions"),
            step.write_once(spark.sql("SELECT 3 AS k, 3 AS n"), bench.table, "overwrite", where="k = 3"),
            step.write_once(
                spark.sql("SELECT 3 AS k, 4 AS n"), bench.table, "merge", keys=["k"], name="last"
            ),
            step.sql_once(f"UPDATE {bench.table} SET n = n + 1 WHERE k = 1"),
        ]

    first = job(bench.step())
    assert bench.rows() == [(1, 2), (2, 9), (3, 4)]
    assert None not in first
    assert bench.markers() == [f"cap_1/write/{name}" for name in ("1", "2", "3", "last", "4")]
    assert job(bench.step()) == first
    assert bench.rows() == [(1, 2), (2, 9), (3, 4)]
    assert bench.skipped() == 5


def test_sql_sees_a_table_as_the_jvm_does(bench: Bench, spark: SparkSession) -> None:
    bench.sql("CREATE TABLE {t} (k INT) USING iceberg")
    bench.run(f"INSERT INTO {bench.table} VALUES (1)")
    bench.sql("ALTER TABLE {t} CREATE BRANCH x")
    parts = tuple(bench.table.split("."))
    by_jvm, by_sql = JvmTables(spark).state(parts), SqlTables(spark).state(parts)
    assert by_jvm is not None
    assert by_sql is not None
    assert (by_sql.name, dict(by_sql.branches)) == (by_jvm.name, dict(by_jvm.branches))
    assert [(x.id, x.parent, x.timestamp_ms, x.marker) for x in by_sql.snapshots] == [
        (x.id, x.parent, x.timestamp_ms, x.marker) for x in by_jvm.snapshots
    ]
    for tables in (JvmTables(spark), SqlTables(spark)):
        assert tables.state((*parts[:-1], "nothing")) is None
        assert tables.full_name(parts) == bench.table


def test_a_target_that_keeps_no_marks_is_written_and_said_to_be_so(bench: Bench, spark: SparkSession) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS spark_catalog.default.plain (k INT) USING parquet")
    for tables in (JvmTables(spark), SqlTables(spark)):
        with pytest.raises(NotIcebergError):
            tables.state(("spark_catalog", "default", "plain"))
    bench.run("INSERT INTO spark_catalog.default.plain VALUES (1)")
    assert any("keeps no marks" in line for line in bench.said)
    spark.sql("DROP TABLE spark_catalog.default.plain")


def test_what_cannot_be_marked_is_said_to_run_again(bench: Bench) -> None:
    bench.sql("CREATE TABLE {t} (k INT) USING iceberg")
    bench.run(f"BEGIN INSERT INTO {bench.table} VALUES (1); INSERT INTO {bench.table} VALUES (2); END")
    assert bench.markers() == [None, None]
    assert any("cannot be marked" in line for line in bench.said)


@pytest.mark.jvm
def test_a_pyspark_script_in_a_process_of_its_own_writes_once(
    begin: Callable[..., Any], step_settings: Settings, code_folder: Path
) -> None:
    (code_folder / "writes_once.py").write_text(
        dedent(
            """
            import calve.spark
            from pyspark.sql import SparkSession

            step = calve.spark.step_context()
            spark = SparkSession.builder.getOrCreate()
            spark.sql("CREATE TABLE IF NOT EXISTS lake.db.by_script (n BIGINT)")
            print("reads", step.icdc_table, step.params["file"])
            print("wrote", step.write_once(spark.range(3).toDF("n"), "lake.db.by_script"))
            """
        )
    )
    guarded = GuardedSpark(step_settings, "db.script_source")
    wrote = []
    for _ in range(2):
        step = begin(guarded, file="writes_once.py")
        outcome = step.run()
        assert outcome.ending is Ending.DONE, step.log()
        assert [signal.name for signal in outcome.signals] == ["table:lake.db.by_script"]
        assert f"reads {guarded.capture.icdc_table} writes_once.py" in step.log()
        wrote.append(next(line for line in step.log().splitlines() if line.startswith("wrote")))
    assert wrote[0] == wrote[1] != "wrote None"
    assert guarded.rows("lake.db.by_script") == [0, 1, 2]


@pytest.mark.jvm
def test_a_failed_statement_leaves_what_landed_before_it(begin: Begin, step_settings: Settings) -> None:
    guarded = GuardedSql(step_settings, "db.sql_source")
    make = "CREATE TABLE IF NOT EXISTS lake.db.marked (n BIGINT);"
    script = f"{make} INSERT INTO lake.db.marked SELECT * FROM range(9);"
    step = begin(guarded, script=script + "SELECT no_such_column FROM lake.db.marked")
    outcome = step.run()
    assert outcome.ending is Ending.USER_ERROR
    assert outcome.artifacts["writes"][0]["target"] == "lake.db.marked"
    assert guarded.ledger.landed(guarded.capture.id)
    step = begin(guarded, script=script + "SELECT count(*) FROM lake.db.marked")
    assert step.run().ending is Ending.DONE, step.log()
    assert "has landed in snapshot" in step.log()
    assert guarded.rows("lake.db.marked") == list(range(9))
