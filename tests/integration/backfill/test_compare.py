"""A branch against main: every kind of difference, and none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calve.backfill.spark.compare import compare
from calve.backfill.spark.jobs import run
from calve.backfill.spark.options import AuditQuery, CompareOptions, Grouping, Thresholds
from calve.backfill.spark.report import ChangedRow, Moves, Report, SchemaChange
from calve.errors import NotFoundError, UsageError
from calve.lake.catalogs import Lake
from support.branches import BranchedTable
from support.spark import session_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Rows of a day: an id, an amount, a map, and a text that is null for the first.
ROWS = (
    "SELECT CAST(day(d) * 100 + id AS BIGINT) AS id, CAST(d AS TIMESTAMP) + make_interval(0,0,0,0,id) AS at,"
    " CAST(id * 1.5 AS DECIMAL(9,2)) AS amount, CAST(id AS DOUBLE) AS ratio, map('k', id) AS tags,"
    " IF(id = 0, NULL, 'x') AS v FROM range(4)"
    " CROSS JOIN (SELECT explode(sequence(DATE '2024-01-01', DATE '2024-01-05')) AS d)"
)
DAYS = "days(at)"


@pytest.fixture
def sales(spark: SparkSession, lake: Lake, namespace: str) -> BranchedTable:
    """Four rows for each of five days, known by id, with a branch."""
    name = f"lake.{namespace}.sales"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT NOT NULL, at TIMESTAMP, amount DECIMAL(9,2), ratio DOUBLE,"
        f" tags MAP<STRING, BIGINT>, v STRING) USING iceberg PARTITIONED BY ({DAYS})"
    )
    spark.sql(f"ALTER TABLE {name} SET IDENTIFIER FIELDS id")
    spark.sql(f"INSERT INTO {name} {ROWS}")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH b")
    return BranchedTable(spark, lake, name, "b")


def change_everything(table: BranchedTable) -> None:
    """Day 2: a row added, one removed, two changed. Day 3: written anew with the same rows."""
    branch = table.side("b")
    table.spark.sql(f"INSERT INTO {branch} SELECT 999, TIMESTAMP '2024-01-02 09:00:00', NULL, 7, NULL, 'new'")
    table.spark.sql(f"DELETE FROM {branch} WHERE id = 200")
    table.spark.sql(f"UPDATE {branch} SET v = NULL, amount = amount + 1 WHERE id = 201")
    table.spark.sql(f"UPDATE {branch} SET tags = map('k', 9) WHERE id = 203")
    table.spark.sql(
        f"INSERT OVERWRITE {branch} SELECT * FROM {table.name} WHERE CAST(at AS DATE) = '2024-01-03'"
    )


@pytest.mark.slow
def test_every_kind_of_difference_is_found_with_samples(sales: BranchedTable) -> None:
    with session_conf(sales.spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        change_everything(sales)
    # A session that is set to write a branch reads that branch by the table's name.
    with session_conf(sales.spark, {"spark.wap.branch": "b"}):
        report = compare(sales.spark, sales.name, "b", CompareOptions())

    assert report.keys == ("id",)
    assert [group.values for group in report.groups] == [{DAYS: "2024-01-02"}, {DAYS: "2024-01-03"}]
    second, third = report.groups
    assert (second.moves, third.moves) == (Moves(added=1, removed=1, changed=2), Moves())
    assert (second.main.rows, second.branch.rows, third.branch.rows) == (4, 4, 4)
    assert (second.main.sums["amount"], second.branch.sums["amount"]) == (9, 10)
    assert (second.main.sums["ratio"], second.branch.sums["ratio"]) == (6, 13)
    assert {name: n for name, n in second.main.nulls.items() if n} == {"v": 1}
    assert {name: n for name, n in second.branch.nulls.items() if n} == {"amount": 1, "tags": 1, "v": 1}
    assert [row["id"] for row in report.samples.added] == [999]
    assert [row["id"] for row in report.samples.removed] == [200]
    assert report.samples.changed == (
        ChangedRow({"id": 201}, {"amount": (1.5, 2.5), "v": ("x", None)}),
        ChangedRow({"id": 203}, {"tags": ({"k": 3}, {"k": 9})}),
    )
    assert (report.total.main.rows, report.passed) == (8, True)
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report
    text = report.to_markdown()
    assert "**Passed.**" in text
    assert f"| {DAYS}=2024-01-02 | 4 | 4 | 1 | 1 | 2 |" in text
    assert "| id=201 | amount | 1.5 | 2.5 |" in text

    by_value = CompareOptions(keys=(), group_by=Grouping.DAY, column="at", samples=1)
    unkeyed = compare(sales.spark, sales.name, "b", by_value)
    assert unkeyed.groups[0].values == {"day": "2024-01-02"}
    assert unkeyed.total.moves == Moves(added=3, removed=3, changed=0)
    assert (len(unkeyed.samples.added), unkeyed.samples.changed) == (1, ())
    whole = compare(sales.spark, sales.name, "b", CompareOptions(group_by=Grouping.TABLE, samples=0))
    assert [(group.values, group.moves) for group in whole.groups] == [({}, whole.total.moves)]
    assert whole.total.moves == report.total.moves


@pytest.mark.slow
def test_only_files_of_partitions_that_differ_are_read(sales: BranchedTable) -> None:
    sales.spark.sql(f"DELETE FROM {sales.side('b')} WHERE id = 200")
    # Whoever read the others would find this one missing.
    lost = "SELECT file_path FROM {t}.files WHERE partition.at_day = '2024-01-04'"
    path = sales.spark.sql(lost.format(t=sales.name)).first()
    assert path is not None
    Path(path[0].removeprefix("file:")).unlink()
    assert compare(sales.spark, sales.name, "b", CompareOptions()).total.moves == Moves(removed=1)


@pytest.mark.slow
def test_what_is_over_a_threshold_or_fails_an_audit_is_listed(sales: BranchedTable) -> None:
    sales.spark.sql(f"DELETE FROM {sales.side('b')} WHERE id IN (200, 201)")
    sales.spark.sql(f"UPDATE {sales.side('b')} SET v = 'y' WHERE id = 202")
    sales.spark.sql(f"ALTER TABLE {sales.name} ADD COLUMN extra INT")
    sales.spark.sql(f"ALTER TABLE {sales.name} RENAME COLUMN ratio TO share")
    audits = (
        AuditQuery(
            "fewer", "SELECT (SELECT count(*) FROM ${branch_table}) < (SELECT count(*) FROM ${main_table})"
        ),
        AuditQuery(
            "lost", "SELECT count(*) FROM ${main_table} m LEFT ANTI JOIN ${branch_table} b ON m.id = b.id"
        ),
        AuditQuery("two", "SELECT 1, 2"),
        AuditQuery("nobody", "SELECT id FROM ${branch_table} WHERE id < 0"),
        AuditQuery("broken", "SELECT nothing FROM ${branch_table}"),
        AuditQuery("text", "SELECT 'yes'"),
    )
    limits = Thresholds(
        max_added_rows=0,
        max_removed_rows=1,
        max_changed_rows=1,
        max_changed_share=0.2,
        max_row_count_change=0.4,
    )
    options = CompareOptions(audits=audits, thresholds=limits)
    job = {"action": "compare", "table": sales.name, "branch": "b", "options": options.to_json()}
    report = Report.from_json(json.loads(run(sales.spark, {"job": json.dumps(job)})["result"]))

    assert not report.passed
    assert report.total.moves == Moves(removed=2, changed=1)
    assert set(report.schema_changes) == {
        SchemaChange("extra", "int", None),
        SchemaChange("ratio", None, "double"),
        SchemaChange("share", "double", None),
    }
    assert [(x.name, x.passed, x.value) for x in report.audits[:2]] == [
        ("fewer", True, True),
        ("lost", False, 2),
    ]
    assert [failure.split(":")[0] for failure in report.failures] == [
        "max_removed_rows",
        "max_changed_share",
        "max_row_count_change",
        *["require_no_schema_change"] * 3,
        *(f"audit {name}" for name in ("lost", "two", "nobody", "broken", "text")),
    ]
    assert "max_removed_rows: 2 rows, at most 1 allowed" in report.to_markdown()
    assert "UNRESOLVED_COLUMN" in str(report.audits[4].problem)


@pytest.mark.slow
def test_a_branch_without_changes_passes_and_what_is_not_there_is_named(sales: BranchedTable) -> None:
    strict = Thresholds(
        max_added_rows=0, max_removed_rows=0, max_changed_rows=0, max_changed_share=0, max_row_count_change=0
    )
    report = compare(sales.spark, sales.name, "b", CompareOptions(thresholds=strict))
    assert (report.groups, report.failures, report.total.moves) == ((), (), Moves())
    assert "nothing to compare" in report.to_markdown()

    with pytest.raises(NotFoundError) as gone:
        compare(sales.spark, sales.name, "gone", CompareOptions())
    assert gone.value.code == "BRANCH_NOT_FOUND"
    with pytest.raises(UsageError) as unknown:
        compare(sales.spark, sales.name, "b", CompareOptions(keys=("ident",)))
    assert unknown.value.code == "COLUMN_NOT_FOUND"
    for wrong in ("{", "[]", '{"action": "drop"}', '{"action": "compare"}'):
        with pytest.raises(UsageError) as refused:
            run(sales.spark, {"job": wrong})
        assert refused.value.code == "BACKFILL_JOB_INVALID"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "shown"),
    [
        ("bucket(4, id), months(at)", "2024-01"),
        ("years(at), v", "2024"),
        ("v", "x"),
        ("truncate(10, id), hours(at)", "2024-01-02-01"),
        ("", None),
    ],
)
def test_partitions_of_every_layout_are_told_apart(
    spark: SparkSession, lake: Lake, namespace: str, layout: str, shown: str | None
) -> None:
    name = f"lake.{namespace}.laid"
    spark.sql(f"CREATE TABLE {name} USING iceberg {f'PARTITIONED BY ({layout})' if layout else ''} AS {ROWS}")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH b")
    table = BranchedTable(spark, lake, name, "b")
    spark.sql(f"UPDATE {table.side('b')} SET amount = 0 WHERE id = 201")
    spark.sql(f"DELETE FROM {table.side('b')} WHERE id = 200")
    report = compare(spark, name, "b", CompareOptions(keys=("id",)))
    assert report.total.moves == Moves(removed=1, changed=1)
    listed = [value for group in report.groups for value in group.values.values()]
    assert shown is None or shown in listed
    if layout:
        spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD truncate(1, v)")
        spark.sql(f"INSERT INTO {table.side('b')} SELECT * FROM {name} WHERE id = 300")
        evolved = compare(spark, name, "b", CompareOptions(keys=("id",)))
        assert evolved.total.moves == Moves(added=1, removed=1, changed=1)
