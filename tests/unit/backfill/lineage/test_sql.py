"""What scripts read and write."""

from __future__ import annotations

import pytest

from calve.backfill.lineage.model import Cause, Direction
from calve.spark.targets import WriteKind

from .conftest import ReadSql

READS = {
    "a select": ("SELECT * FROM db.a", {"db.a"}),
    "a join": (
        "SELECT 1 FROM db.a JOIN db.b ON a.x = b.x LEFT JOIN db.c USING (x)",
        {"db.a", "db.b", "db.c"},
    ),
    "a comma": ("SELECT 1 FROM db.a x, db.b y", {"db.a", "db.b"}),
    "subqueries": (
        """INSERT INTO db.t SELECT (SELECT max(x) FROM db.c) FROM (SELECT * FROM db.a)
        WHERE k IN (SELECT k FROM db.b)""",
        {"db.a", "db.b", "db.c"},
    ),
    "a CTE is no table": ("WITH c AS (SELECT * FROM db.a) SELECT * FROM c", {"db.a"}),
    "a CTE before an insert": ("WITH c AS (SELECT * FROM db.a) INSERT INTO db.t SELECT * FROM c", {"db.a"}),
    "a union": ("SELECT x FROM db.a UNION ALL SELECT x FROM db.b", {"db.a", "db.b"}),
    "the source of a merge": (
        "MERGE INTO db.t USING db.a AS s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *",
        {"db.a"},
    ),
    "a subquery of a merge": (
        """MERGE INTO db.t USING (SELECT * FROM db.a JOIN db.b USING (k)) s ON t.k = s.k
        WHEN NOT MATCHED THEN INSERT *""",
        {"db.a", "db.b"},
    ),
    "a delete by another table": ("DELETE FROM db.t WHERE k IN (SELECT k FROM db.a)", {"db.a"}),
    "an update by another table": ("UPDATE db.t SET x = (SELECT max(x) FROM db.a)", {"db.a"}),
    "its own target": (
        "INSERT OVERWRITE db.t SELECT * FROM db.t UNION ALL SELECT * FROM db.a",
        {"db.a", "db.t"},
    ),
    "a temporary view": (
        "CREATE TEMP VIEW v AS SELECT * FROM db.a; INSERT INTO db.t SELECT * FROM v",
        {"db.a"},
    ),
    "a view that nobody uses": ("CREATE TEMP VIEW v AS SELECT * FROM db.a; SELECT 1", set()),
    "a view of a view under its own name": (
        """CREATE TEMP VIEW v AS SELECT * FROM db.a;
        CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM v JOIN db.b USING (k); SELECT * FROM v""",
        {"db.a", "db.b"},
    ),
    "a global view": (
        "CREATE GLOBAL TEMPORARY VIEW v AS SELECT * FROM db.a; SELECT * FROM global_temp.v",
        {"db.a"},
    ),
    "a cached query": ("CACHE TABLE v AS SELECT * FROM db.a; SELECT count(*) FROM v", {"db.a"}),
    "a state of the past": ("SELECT * FROM db.a VERSION AS OF 12", {"db.a"}),
    "a branch, a tag, metadata": (
        "SELECT * FROM db.a.branch_x; SELECT * FROM lake.db.b.tag_y; SELECT * FROM lake.db.c.snapshots",
        {"db.a", "db.b", "db.c"},
    ),
    "a table that is named as metadata is": (
        "SELECT * FROM db.files; SELECT * FROM lake.db.history",
        {"db.files", "db.history"},
    ),
    "functions and values are no tables": (
        """SELECT * FROM range(10); SELECT x FROM VALUES (1) AS v(x);
        SELECT * FROM db.a LATERAL VIEW explode(l) e AS i""",
        {"db.a"},
    ),
    "a name in a function": ("SELECT * FROM IDENTIFIER('db.a')", {"db.a"}),
    "a namespace in use": ("USE db; SELECT * FROM a; USE lake.other; SELECT * FROM b", {"db.a", "other.b"}),
    "several inserts": (
        "FROM db.a INSERT INTO db.t SELECT x WHERE x > 0 INSERT INTO db.u SELECT x WHERE x < 0",
        {"db.a"},
    ),
    "a whole table": ("INSERT INTO db.t TABLE db.a", {"db.a"}),
    "odd names": ("SELECT * FROM lake.db.`a-1`", {"db.`a-1`"}),
    "what only manages tables": (
        """ALTER TABLE db.a ADD COLUMN x INT; DROP TABLE db.b; SET x = 1;
        CALL lake.system.expire_snapshots('db.c')""",
        set(),
    ),
}


@pytest.mark.parametrize("case", READS)
def test_a_script_reads(case: str, read_sql: ReadSql) -> None:
    script, tables = READS[case]
    found = read_sql(script)
    assert set(found.reads) == {f"lake.{table}" for table in tables}
    assert not found.gaps


WRITES = {
    "INSERT INTO db.t SELECT 1": [("db.t", WriteKind.INSERT)],
    "INSERT INTO db.t (a) VALUES (1)": [("db.t", WriteKind.INSERT)],
    "INSERT OVERWRITE db.t PARTITION (d = 1) SELECT 1": [("db.t", WriteKind.OVERWRITE)],
    "INSERT INTO db.t REPLACE WHERE d = 1 SELECT 1": [("db.t", WriteKind.OVERWRITE)],
    "MERGE INTO db.t USING db.a ON t.k = a.k WHEN MATCHED THEN DELETE": [("db.t", WriteKind.MERGE)],
    "UPDATE db.t SET a = 1": [("db.t", WriteKind.UPDATE)],
    "DELETE FROM db.t WHERE a = 1": [("db.t", WriteKind.DELETE)],
    "TRUNCATE TABLE db.t": [("db.t", WriteKind.TRUNCATE)],
    "CREATE OR REPLACE TABLE db.t USING iceberg AS SELECT 1 AS a": [("db.t", WriteKind.CREATE)],
    "CREATE TABLE IF NOT EXISTS db.t (a INT)": [],
    "CREATE TEMP VIEW v AS SELECT 1": [],
    "SELECT 1": [],
    "USE db; INSERT INTO t SELECT 1": [("db.t", WriteKind.INSERT)],
    "FROM db.a INSERT INTO db.t SELECT x INSERT OVERWRITE db.u SELECT x": [
        ("db.t", WriteKind.INSERT),
        ("db.u", WriteKind.OVERWRITE),
    ],
    "DELETE FROM db.t WHERE d = 1; INSERT INTO db.t SELECT 1": [
        ("db.t", WriteKind.DELETE),
        ("db.t", WriteKind.INSERT),
    ],
}


@pytest.mark.parametrize("script", WRITES)
def test_a_script_writes(script: str, read_sql: ReadSql) -> None:
    found = read_sql(script)
    assert [(table, kind) for table, kind, _ in found.writes] == [(f"lake.{x}", k) for x, k in WRITES[script]]
    assert not found.gaps


def test_a_branch_of_the_target_is_told_apart(read_sql: ReadSql) -> None:
    found = read_sql("INSERT INTO db.t.branch_audit SELECT 1")
    assert found.writes == [("lake.db.t", WriteKind.INSERT, "audit")]


GAPS = {
    "BEGIN INSERT INTO db.t SELECT * FROM db.a; END": (Cause.SCRIPT, set(Direction)),
    "INSERT INTO db.t SELECT FROM WHERE": (Cause.SCRIPT, {Direction.READS}),
    "EXECUTE IMMEDIATE 'DROP TABLE x'": (Cause.SCRIPT, set(Direction)),
    "INSERT INTO elsewhere.db.t SELECT 1": (Cause.OUTSIDE, {Direction.WRITES}),
    "SELECT * FROM elsewhere.db.a": (Cause.OUTSIDE, {Direction.READS}),
    "SELECT * FROM parquet.`/data/files`": (Cause.OUTSIDE, {Direction.READS}),
    "SELECT * FROM nowhere": (Cause.NAME, {Direction.READS}),
    "SELECT * FROM IDENTIFIER(concat('db', '.a'))": (Cause.SCRIPT, {Direction.READS}),
}


@pytest.mark.parametrize("script", GAPS)
def test_what_cannot_be_told_is_said_to_be_unknown(script: str, read_sql: ReadSql) -> None:
    cause, directions = GAPS[script]
    assert [(gap.cause, set(gap.directions)) for gap in read_sql(script).gaps] == [(cause, directions)]


def test_a_statement_that_is_not_understood_leaves_the_others_as_they_are(read_sql: ReadSql) -> None:
    found = read_sql("SELECT FROM FROM; INSERT INTO db.t SELECT * FROM db.a; WITH WITH")
    assert set(found.reads) == {"lake.db.a"}
    assert len(found.writes) == 1
    assert found.gaps


def test_views_that_double_themselves_do_not_grow_without_end(read_sql: ReadSql) -> None:
    doubling = "".join(f"CREATE TEMP VIEW v{n + 1} AS SELECT * FROM v{n} JOIN v{n} w;" for n in range(20))
    found = read_sql(f"CREATE TEMP VIEW v0 AS SELECT * FROM db.a; {doubling} SELECT * FROM v20")
    assert "lake.db.a" in found.reads
    assert found.gaps


DEEP = {
    "a long condition": "SELECT * FROM db.a WHERE " + " OR ".join(f"x = {n}" for n in range(1000)),
    "many brackets": "SELECT " + "(" * 2000 + "1" + ")" * 2000 + " FROM db.a",
    "many subqueries": "INSERT INTO db.t (x) " + "SELECT x FROM (" * 150 + "SELECT x FROM db.a" + ")" * 150,
    "many unions": "INSERT INTO db.t (x) " + " UNION ALL ".join("SELECT x FROM db.a" for _ in range(200)),
}


@pytest.mark.parametrize("case", DEEP)
def test_deep_statements_are_read_or_said_to_be_unknown(case: str, read_sql: ReadSql) -> None:
    found = read_sql(DEEP[case])
    assert set(found.reads) == {"lake.db.a"} or found.gaps
