"""From which columns the columns of targets are made."""

from __future__ import annotations

import pytest

from .conftest import Columns, ReadSql

SCHEMAS: Columns = {
    "lake.db.s": ["a", "b", "c", "k"],
    "lake.db.r": ["k", "z"],
    "lake.db.t": ["x", "y", "d"],
}
SHOWN = {
    "listed columns": ("INSERT INTO db.t (x, y) SELECT a, b + c FROM db.s", {"x": "s.a", "y": "s.b s.c"}),
    "by name": ("INSERT INTO db.t BY NAME SELECT a AS x, b AS y FROM db.s", {"x": "s.a", "y": "s.b"}),
    "a new table": ("CREATE TABLE db.t AS SELECT a AS x, b FROM db.s", {"x": "s.a", "b": "s.b"}),
    "joined tables": (
        "INSERT INTO db.t (x, y) SELECT s.a, r.z FROM db.s JOIN db.r ON s.k = r.k",
        {"x": "s.a", "y": "r.z"},
    ),
    "a column that either may have": ("INSERT INTO db.t (x) SELECT a FROM db.s JOIN db.r USING (k)", {}),
    "a CTE": (
        "WITH c AS (SELECT k, max(a) AS m FROM db.s GROUP BY k) INSERT INTO db.t (x, y) SELECT k, m FROM c",
        {"x": "s.k", "y": "s.a"},
    ),
    "a union": (
        "INSERT INTO db.t (x) SELECT a FROM db.s UNION ALL SELECT z FROM db.r",
        {"x": "r.z s.a"},
    ),
    "a view": (
        "CREATE TEMP VIEW v (p, q) AS SELECT a, b FROM db.s; INSERT INTO db.t (x, y) SELECT q, p FROM v",
        {"x": "s.b", "y": "s.a"},
    ),
    "a star over what is listed": (
        "INSERT INTO db.t (x, y) SELECT * FROM (SELECT a, b FROM db.s)",
        {"x": "s.a", "y": "s.b"},
    ),
    "through a star": (
        "INSERT INTO db.t (x) SELECT a FROM (SELECT *, 1 AS one FROM db.s)",
        {"x": "s.a"},
    ),
    "a star over what is not known": ("INSERT INTO db.t (x, y) SELECT * FROM db.s", {}),
    "a place that is not known": ("INSERT INTO db.t SELECT a, b FROM db.s", {}),
    "a target that the script makes": (
        "CREATE TABLE IF NOT EXISTS db.t (x INT, y INT); INSERT INTO db.t SELECT a, b FROM db.s",
        {"x": "s.a", "y": "s.b"},
    ),
    "a struct as a whole": ("INSERT INTO db.t (x, y) SELECT p.*, a FROM db.s", {}),
    "subqueries without names": (
        "INSERT INTO db.t (x) SELECT a FROM (SELECT * FROM db.s) CROSS JOIN (SELECT * FROM db.r)",
        {},
    ),
    "two tables of one name": ("INSERT INTO db.t (x) SELECT s.a FROM db.s JOIN other.s", {}),
    "a field of a struct": (
        "INSERT INTO db.t (x, y) SELECT p.f, s.p.g.h FROM db.s",
        {"x": "s.p", "y": "s.p"},
    ),
    "an exploded list": (
        "INSERT INTO db.t (x, y) SELECT i, a FROM db.s LATERAL VIEW explode(l) e AS i",
        {"x": "s.l", "y": "s.a"},
    ),
    "a scalar subquery": (
        "INSERT INTO db.t (x) SELECT (SELECT max(z) FROM db.r) FROM db.s",
        {"x": "r.z"},
    ),
    "an alias that may be a column": (
        "INSERT INTO db.t (x, y) SELECT a + 1 AS b, b * 2 FROM db.s",
        {"x": "s.a"},
    ),
    "a merge": (
        """MERGE INTO db.t USING db.s ON t.x = s.k WHEN MATCHED THEN UPDATE SET t.y = t.y + s.a, x = s.b
        WHEN NOT MATCHED THEN INSERT (x, y) VALUES (s.k, s.c)""",
        {"x": "s.b s.k", "y": "s.a s.c"},
    ),
    "a merge of all columns": (
        """MERGE INTO db.t USING (SELECT a AS x, b AS y FROM db.s) q ON t.x = q.x
        WHEN NOT MATCHED THEN INSERT *""",
        {"x": "s.a", "y": "s.b"},
    ),
    "a merge with a CTE": (
        """WITH q AS (SELECT a AS x FROM db.s)
        MERGE INTO db.t USING q ON t.x = q.x WHEN MATCHED THEN UPDATE SET y = q.x""",
        {"y": "s.a"},
    ),
    "an update": ("UPDATE db.t SET x = (SELECT max(a) FROM db.s), y = 1", {"x": "s.a"}),
    "a count of rows": ("INSERT INTO db.t (x) SELECT count(*) FROM db.s", {}),
    "a table that is turned round": (
        "INSERT INTO db.t (x) SELECT a FROM db.s PIVOT (sum(b) FOR c IN (1, 2))",
        {},
    ),
}
WITH_SCHEMAS = {
    "by the places of the target": (
        "INSERT INTO db.t SELECT a, b, c FROM db.s",
        {"x": "s.a", "y": "s.b", "d": "s.c"},
    ),
    "a star": ("INSERT INTO db.t SELECT * FROM db.r", {"x": "r.k", "y": "r.z"}),
    "a star over a subquery and a table": (
        "INSERT INTO db.t SELECT * FROM (SELECT a FROM db.s) q CROSS JOIN db.r",
        {"x": "s.a", "y": "r.k", "d": "r.z"},
    ),
    "a star over a join by a column": ("INSERT INTO db.t SELECT * FROM db.s JOIN db.r USING (k)", {}),
    "a star without some": ("INSERT INTO db.t SELECT * EXCEPT (a, k) FROM db.s", {"x": "s.b", "y": "s.c"}),
    "a fixed partition": (
        "INSERT OVERWRITE db.t PARTITION (x = 1) SELECT a, b FROM db.s",
        {"y": "s.a", "d": "s.b"},
    ),
    "a partition that is moved": (
        "INSERT OVERWRITE db.t PARTITION (x) SELECT a, b, c FROM db.s",
        {"y": "s.a", "d": "s.b", "x": "s.c"},
    ),
    "a column that only one table has": (
        "INSERT INTO db.t (x, y) SELECT a, z FROM db.s JOIN db.r ON s.k = r.k",
        {"x": "s.a", "y": "r.z"},
    ),
    "a column that no table has": ("INSERT INTO db.t (x) SELECT nothing FROM db.s", {}),
}


def made_from(script: str, read_sql: ReadSql, columns: Columns | None = None) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for edge in read_sql(script, columns).columns:
        assert edge.target_table == "lake.db.t"
        source = f"{edge.source_table.removeprefix('lake.db.')}.{edge.source_column}"
        found.setdefault(edge.target_column, []).append(source)
    return {column: " ".join(sorted(sources)) for column, sources in found.items()}


@pytest.mark.parametrize("case", SHOWN)
def test_what_the_sql_alone_shows(case: str, read_sql: ReadSql) -> None:
    script, expected = SHOWN[case]
    assert made_from(script, read_sql) == expected


@pytest.mark.parametrize("case", WITH_SCHEMAS)
def test_what_the_columns_of_the_tables_let_see(case: str, read_sql: ReadSql) -> None:
    script, expected = WITH_SCHEMAS[case]
    assert made_from(script, read_sql, SCHEMAS) == expected
