"""Literals, unique keys and deletions on a real Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from calve.lake import Lake
from calve.steps.patterns.rendering import aggregate, merge
from calve.steps.patterns.rendering.aggregate import AggregatePlan
from calve.steps.patterns.rendering.merge import MergePlan
from calve.steps.patterns.tables import source_of, view
from support.lake_table import LakeTable
from support.pattern_histories import small_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

KINDS = (
    "s string, d decimal(9,2), tn timestamp_ntz, x double, b boolean, raw binary, dy date, n bigint, f float,"
    " at timestamp, moment timestamp"
)
PARTITIONS = "s, d, tn, x, b, raw, dy, n, f, at, hours(moment)"
ODD = (
    (
        r"""('it\'s', -1.50, TIMESTAMP_NTZ '2024-01-01 00:00:00.000001', double('NaN'), true, X'00FF27', """
        r"""DATE '1969-12-31', -9223372036854775807, float('0.1'), TIMESTAMP '2024-03-31 01:30:00Z', """
        r"""TIMESTAMP '2024-03-31 01:30:00Z')"""
    ),
    (
        r"""('a\\b${x}`"\n--', 0.01, TIMESTAMP_NTZ '1900-01-01 00:00:00', double('-Infinity'), true, X'', """
        r"""DATE '2024-02-29', 9223372036854775807, float('1e-40'), TIMESTAMP '1960-01-01 00:00:00.5Z', """
        r"""TIMESTAMP '1960-01-01 00:00:00.5Z')"""
    ),
    "(null, null, null, null, null, null, null, null, null, null, null)",
    (
        r"""('ünï😀', 9999999.99, TIMESTAMP_NTZ '9999-12-31 23:59:59', double('-0.0'), null, X'27', """
        r"""DATE '0001-01-01', 0, float('Infinity'), TIMESTAMP '2024-10-27 00:59:59.999999Z', """
        r"""TIMESTAMP '2024-10-27 00:59:59.999999Z')"""
    ),
)
PLAIN = (
    "('p', 5, TIMESTAMP_NTZ '2020-01-01 00:00:00', double(7), false, X'70', DATE '2020-01-01', 7, float(7),"
    " TIMESTAMP '2020-01-01 00:00:00Z', TIMESTAMP '2020-01-01 00:00:00Z')"
)


def test_the_partitions_of_a_change_as_literals_hold_for_its_rows_and_for_no_others(
    spark: SparkSession, lake: Lake, namespace: str
) -> None:
    table = LakeTable.create(spark, lake, f"lake.{namespace}.odd", KINDS, PARTITIONS)
    start = table.insert(PLAIN)
    table.insert(*ODD)
    changes = table.appended(start)
    source = source_of(table.source, changes)
    counts = {}
    with small_data(spark):
        for column in source.columns:
            (found,) = source.filters(column)
            counts[column] = table.sql(f"SELECT count(*) FROM {table} WHERE {found.sql()}").collect()[0][0]
    assert counts == dict.fromkeys(source.columns, len(ODD))


def test_unique_keys_are_followed_by_the_change_alone(
    spark: SparkSession, lake: Lake, namespace: str
) -> None:
    source = LakeTable.create(spark, lake, f"lake.{namespace}.src", "id bigint, v string, gone boolean")
    target = LakeTable.create(spark, lake, f"lake.{namespace}.target", "id bigint, v string")
    plan = MergePlan("SELECT id, v, gone FROM src", ["id"], unique_source=True, delete_when="s.gone")
    changes_made = [
        "INSERT INTO {t} VALUES (1, 'a', false), (2, 'b', false), (3, 'c', false), (4, 'd', true)",
        "UPDATE {t} SET v = 'B' WHERE id = 2",
        "DELETE FROM {t} WHERE id = 1",
        "UPDATE {t} SET gone = true WHERE id = 3",
        "INSERT INTO {t} VALUES (5, 'e', false)",
        "DELETE FROM {t} WHERE id = 5",
    ]
    start = None
    with small_data(spark):
        for statement in changes_made:
            source.sql(statement.format(t=source))
            changes = source.net(start)
            start = changes.to_snapshot_id
            for rendered in merge.render(plan, view(lake, changes, target.name)).statements:
                assert "VERSION AS OF" not in rendered.text
                target.sql(rendered.text)
            expected = source.sql(f"SELECT id, v FROM {source} WHERE NOT gone ORDER BY id").collect()
            assert target.sql(f"SELECT id, v FROM {target} ORDER BY id").collect() == expected, statement


def test_keys_that_only_the_query_knows_filter_the_source_below_the_aggregation(
    spark: SparkSession, lake: Lake, namespace: str
) -> None:
    source = LakeTable.create(spark, lake, f"lake.{namespace}.src", "id bigint, v string")
    target = LakeTable.create(spark, lake, f"lake.{namespace}.target", "k string, n bigint")
    start = source.insert("(1, 'a')")
    source.insert("(2, 'A')")
    plan = AggregatePlan("SELECT upper(v) AS k, count(*) AS n FROM src GROUP BY 1", {"k": None})
    (statement,) = aggregate.render(plan, view(lake, source.appended(start), target.name)).statements
    plan_text = spark.sql(f"EXPLAIN {statement.text}").collect()[0][0]
    joins = [line for line in plan_text.splitlines() if "LeftSemi" in line and "BroadcastHashJoin" in line]
    sums = [line for line in plan_text.splitlines() if "partial_count" in line]
    assert joins
    assert sums
    assert len(joins[0]) - len(joins[0].lstrip(" :+-")) > len(sums[0]) - len(sums[0].lstrip(" :+-"))


def test_late_rows_are_looked_up_by_a_broadcast_and_written_in_few_files(
    spark: SparkSession, lake: Lake, namespace: str
) -> None:
    columns = "id bigint, day date"
    source = LakeTable.create(spark, lake, f"lake.{namespace}.src", columns, "day")
    target = LakeTable.create(
        spark, lake, f"lake.{namespace}.target", columns, "day", write_distribution__mode="none"
    )
    target.insert("(1, DATE '2024-01-01')")
    start = source.insert("(1, DATE '2024-01-01')")
    source.insert("(1, DATE '2024-01-01')", "(2, DATE '2024-01-01')", "(3, DATE '2024-01-01')")
    plan = MergePlan("SELECT id, day FROM src WHERE id IS NOT NULL", ["id", "day"], updates=False)
    (statement,) = merge.render(plan, view(lake, source.appended(start), target.name)).statements
    shown = spark.sql(f"EXPLAIN {statement.text}").collect()[0][0]
    assert "REBALANCE_PARTITIONS_BY_COL" in shown
    (known,) = (line for line in shown.splitlines() if "LeftSemi" in line)
    assert "BroadcastHashJoin [id#" in known
    assert "coalesce" not in known
    (unknown,) = (line for line in shown.splitlines() if "LeftAnti" in line)
    assert "BroadcastHashJoin" in unknown
    target.sql(statement.text)
    assert sorted(row.id for row in target.sql(f"SELECT id FROM {target}").collect()) == [1, 2, 3]
    assert len(target.sql(f"SELECT * FROM {target}.files").collect()) == 2
