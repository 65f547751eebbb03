from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.spark.targets import WriteKind, dotted, parse_name, target_of, write_of

WRITES = {
    "INSERT INTO lake.db.t SELECT 1": ("insert", "lake.db.t"),
    "insert into table lake.db.t (a, b) VALUES (1, 2)": ("insert", "lake.db.t"),
    "INSERT OVERWRITE lake.db.t SELECT * FROM x": ("overwrite", "lake.db.t"),
    "INSERT OVERWRITE TABLE lake.db.t PARTITION (day='2024-01-01', h) SELECT * FROM x": (
        "overwrite",
        "lake.db.t",
    ),
    "INSERT INTO lake.db.t REPLACE WHERE a > 1 SELECT * FROM x": ("insert", "lake.db.t"),
    "INSERT INTO lake.db.t BY NAME SELECT 1 a": ("insert", "lake.db.t"),
    "INSERT INTO t TABLE s": ("insert", "t"),
    "INSERT INTO t FROM s SELECT a": ("insert", "t"),
    "FROM s INSERT INTO t SELECT a": ("insert", "t"),
    "INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1": ("insert", "t"),
    "WITH a AS (SELECT 1) INSERT INTO lake.db.t SELECT * FROM a": ("insert", "lake.db.t"),
    "INSERT INTO lake.db.t WITH a AS (SELECT 1) SELECT * FROM a": ("insert", "lake.db.t"),
    "INSERT INTO `lake`.`my db`.`t.x` SELECT 1": ("insert", "lake.`my db`.`t.x`"),
    "INSERT INTO IDENTIFIER('lake.db.t') SELECT 1": ("insert", "lake.db.t"),
    "INSERT INTO /* INSERT INTO other */ t SELECT ';' -- MERGE INTO x": ("insert", "t"),
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.n = t.n + s.n "
    "WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN INSERT *": ("merge", "t"),
    "MERGE WITH SCHEMA EVOLUTION INTO a.t USING s ON true WHEN MATCHED THEN DELETE": ("merge", "a.t"),
    "UPDATE lake.db.t SET a = 1 WHERE b = 2": ("update", "lake.db.t"),
    "DELETE FROM lake.db.t AS x WHERE x.a IN (SELECT a FROM s)": ("delete", "lake.db.t"),
    "TRUNCATE TABLE lake.db.t": ("truncate", "lake.db.t"),
    "CREATE TABLE lake.db.t USING iceberg PARTITIONED BY (days(ts)) AS SELECT 1": ("create", "lake.db.t"),
    "CREATE TABLE IF NOT EXISTS t AS (SELECT 1)": ("create", "t"),
    "CREATE OR REPLACE TABLE lake.db.t USING iceberg AS SELECT 1": ("create", "lake.db.t"),
    "REPLACE TABLE lake.db.t USING iceberg AS SELECT 1": ("create", "lake.db.t"),
}
NO_WRITES = [
    "SELECT 1",
    "SELECT 'INSERT INTO t SELECT 1'",
    "CREATE TABLE t (a INT) USING iceberg",
    "CREATE TABLE t LIKE s",
    "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1",
    "CACHE TABLE x AS SELECT 1",
    "ALTER TABLE t ADD COLUMN x INT",
    "CALL lake.system.rewrite_data_files('db.t')",
    "EXPLAIN INSERT INTO t SELECT 1",
    "INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT 1",
    "BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END",
    "FROM x INSERT INTO a SELECT 1 INSERT INTO b SELECT 2",
    "INSERT INTO IDENTIFIER(concat('a', 'b')) SELECT 1",
    "SET x = 1",
    "not SQL at all ((",
    "",
]


@pytest.mark.parametrize(("sql", "expected"), WRITES.items())
def test_the_table_that_a_statement_writes_is_told(sql: str, expected: tuple[str, str]) -> None:
    write = write_of(sql)
    assert write is not None
    assert (write.kind.value, write.table) == expected


@pytest.mark.parametrize("sql", NO_WRITES)
def test_a_statement_that_writes_no_table_or_several_has_no_target(sql: str) -> None:
    assert target_of(sql) is None


def test_a_branch_is_told_from_its_table() -> None:
    write = write_of("INSERT INTO lake.db.t.branch_audit SELECT 1")
    assert write is not None
    assert (write.kind, write.table, write.branch) == (WriteKind.INSERT, "lake.db.t", "audit")
    assert target_of("DELETE FROM branch_office WHERE a = 1") == "branch_office"


@given(st.text(max_size=40))
def test_no_text_is_an_error(text: str) -> None:
    target_of(text)
    target_of(f"INSERT INTO {text} SELECT 1")


@given(st.lists(st.text("ab.` 1", min_size=1, max_size=5), min_size=1, max_size=4).map(tuple))
def test_a_quoted_name_is_read_back(parts: tuple[str, ...]) -> None:
    assert parse_name(dotted(parts)) == parts
    assert write_of(f"MERGE WITH SCHEMA EVOLUTION INTO {dotted(parts)} USING s ON true") is not None
