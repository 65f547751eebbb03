"""Branches made and published without a JVM, as Spark sees them and writes to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calve.lake import Lake, create_branch, drop_branch, fast_forward, set_property
from calve.settings import Settings
from calve.spark.session import join
from support.lake_table import MERGE_ON_READ, LakeTable
from support.spark import session_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.rest import RestServer

BRANCH = "backfill_7"
OVERWRITE = "spark.sql.sources.partitionOverwriteMode"
STATEMENTS = {
    "insert": "INSERT INTO {t} VALUES (10, 1, 'new')",
    "dynamic overwrite": "INSERT OVERWRITE {t} VALUES (11, 2, 'new')",
    "static overwrite": "INSERT OVERWRITE {t} PARTITION (part = 0) VALUES (12, 'new')",
    "merge": "MERGE INTO {t} t USING (SELECT 1 AS id, 'm' AS name) s ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET t.name = s.name WHEN NOT MATCHED THEN INSERT (id, part, name)"
    " VALUES (s.id, 1, s.name)",
    "update": "UPDATE {t} SET name = 'u' WHERE id % 3 = 0",
    "delete of rows": "DELETE FROM {t} WHERE id % 4 = 1",
    "delete of partitions": "DELETE FROM {t} WHERE part = 1",
}


@contextmanager
def writing_to(spark: SparkSession, branch: str, overwrite: str = "dynamic") -> Iterator[None]:
    """A session whose writes go to a branch."""
    with session_conf(spark, {"spark.wap.branch": branch, OVERWRITE: overwrite}):
        yield


def make(spark: SparkSession, lake: Lake, name: str, format_version: int, merge_on_read: bool) -> LakeTable:
    modes = MERGE_ON_READ if merge_on_read else {}
    columns = "id bigint, part int, name string"
    table = LakeTable.create(spark, lake, name, columns, "part", format_version, **modes)
    table.insert(*(f"({at}, {at % 3}, 'old')" for at in range(9)))
    return table


def check_whole_life(spark: SparkSession, table: LakeTable) -> None:
    """Every kind of write lands on the branch and main stays; then main is all of it at once."""
    base, rows = table.head, table.rows()
    set_property(table.source, "write.wap.enabled", "true")
    create_branch(table.source, BRANCH, base)
    create_branch(table.source, BRANCH, base)
    for kind, statement in STATEMENTS.items():
        before = table.source.metadata.current_snapshot_id(BRANCH)
        with writing_to(spark, BRANCH, "static" if kind == "static overwrite" else "dynamic"):
            table.sql(statement.format(t=table))
            seen = table.rows()
        spark.catalog.refreshTable(str(table))
        metadata = table.source.metadata
        assert metadata.current_snapshot_id() == base, kind
        head = metadata.current_snapshot_id(BRANCH)
        assert head is not None
        assert metadata.snapshot(head).parent_id == before, kind
        assert seen == table.rows(head), kind
        assert table.rows() == rows, kind
    head = metadata.current_snapshot_id(BRANCH)
    assert fast_forward(table.source, BRANCH, base) == head
    assert fast_forward(table.source, BRANCH, base) == head
    drop_branch(table.source, BRANCH)
    drop_branch(table.source, BRANCH)
    spark.catalog.refreshTable(str(table))
    assert (table.head, table.rows()) == (head, seen)
    assert list(table.source.metadata.refs()) == ["main"]
    table.insert("(99, 2, 'later')")
    assert table.source.metadata.snapshot(table.head).parent_id == head
    assert table.sql(f"SELECT snapshot_id FROM {table}.history").count() == 3


@pytest.mark.slow
@pytest.mark.parametrize(("format_version", "merge_on_read"), [(1, False), (2, True), (3, False), (3, True)])
def test_all_writes_of_a_session_land_on_the_branch_until_it_is_published(
    spark: SparkSession, lake: Lake, namespace: str, format_version: int, merge_on_read: bool
) -> None:
    name = f"lake.{namespace}.t"
    check_whole_life(spark, make(spark, lake, name, format_version, merge_on_read))


@pytest.mark.slow
@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_a_rest_catalog_is_told_the_same(
    spark: SparkSession, rest_server: RestServer, tmp_path: Path, format_version: int
) -> None:
    catalog = f"restbranch{format_version}"
    settings = Settings(home=tmp_path, catalogs={catalog: {"type": "rest", "uri": rest_server.uri}})
    join(spark, settings)
    lake = Lake(settings)
    lake.catalog(catalog).create_namespace_if_not_exists("branches")
    name = f"{catalog}.branches.t{format_version}"
    check_whole_life(spark, make(spark, lake, name, format_version, merge_on_read=format_version > 1))


def test_a_branch_of_a_table_without_snapshots_comes_with_its_first_write(
    spark: SparkSession, lake: Lake, namespace: str
) -> None:
    table = LakeTable.create(spark, lake, f"lake.{namespace}.t", write_wap_enabled="true")
    with writing_to(spark, BRANCH):
        table.sql(f"INSERT INTO {table} VALUES (1, 'a')")
    assert table.source.metadata.current_snapshot_id() is None
    head = fast_forward(table.source, BRANCH, None)
    spark.catalog.refreshTable(str(table))
    assert (table.head, table.rows().total()) == (head, 1)
