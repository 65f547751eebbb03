"""Capture from end to end on every kind of catalog and store."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calve.lake import Lake, Mode, collect_orphans, drop_changes, verify_changes
from calve.settings import IcdcSettings, Settings
from calve.spark.session import join
from support.lake_table import MERGE_ON_READ, LakeTable, count_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.rest import RestServer
    from support.s3 import S3Server


def joined(spark: SparkSession, home: Path, name: str, properties: dict[str, str]) -> Lake:
    settings = Settings(home=home, catalogs={name: properties})
    join(spark, settings)
    return Lake(settings)


def check_capture(spark: SparkSession, lake: Lake, catalog: str, format_version: int) -> None:
    """Capture, read by name, verify, drop, collect: the whole life of a change."""
    lake.catalog(catalog).create_namespace_if_not_exists("src")
    name = f"{catalog}.src.t{format_version}"
    table = LakeTable.create(spark, lake, name, format_version=format_version, **MERGE_ON_READ)
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.insert("(3, 'c')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    old, new = table.rows(start), table.rows()
    changes = table.net(start)
    after = count_rows(spark.table(str(changes.icdc_table)))
    before = count_rows(spark.table(str(changes.removed_table)))
    assert (after - before, before - after) == (new - old, old - new)
    appended = table.capture(Mode.APPEND, start)
    assert count_rows(spark.table(str(appended.icdc_table))) == Counter([(3, "c")])

    verify_changes(lake, changes)
    drop_changes(lake, changes)
    pyiceberg = lake.catalog(catalog)
    assert not pyiceberg.table_exists(str(changes.icdc_table).split(".", 1)[1])
    assert collect_orphans(lake, IcdcSettings(), (), timedelta(0)) != []
    assert not pyiceberg.table_exists(str(appended.icdc_table).split(".", 1)[1])
    assert table.rows() == new


@pytest.mark.parametrize("format_version", [2, 3])
def test_capture_on_a_postgres_catalog(
    spark: SparkSession, postgres_url: str, tmp_path: Path, format_version: int
) -> None:
    catalog = f"pgcapture{format_version}"
    properties = {"type": "sql", "uri": postgres_url, "warehouse": f"file://{tmp_path}/wh"}
    check_capture(spark, joined(spark, tmp_path, catalog, properties), catalog, format_version)


@pytest.mark.slow
@pytest.mark.parametrize("format_version", [2, 3])
def test_capture_on_a_rest_catalog(
    spark: SparkSession, rest_server: RestServer, tmp_path: Path, format_version: int
) -> None:
    catalog = f"restcapture{format_version}"
    properties = {"type": "rest", "uri": rest_server.uri}
    check_capture(spark, joined(spark, tmp_path, catalog, properties), catalog, format_version)


@pytest.mark.parametrize("format_version", [2, 3])
def test_capture_on_s3(spark: SparkSession, s3_server: S3Server, tmp_path: Path, format_version: int) -> None:
    catalog = f"s3capture{format_version}"
    bucket = s3_server.create_bucket(f"capture{format_version}")
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/s3.db", "warehouse": f"{bucket}/wh"}
    lake = joined(spark, tmp_path, catalog, properties | s3_server.properties)
    check_capture(spark, lake, catalog, format_version)
