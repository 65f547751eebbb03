"""Spark and PyIceberg see one lake: what one writes, the other reads, on every kind of catalog and store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from calve.lake.catalogs import Lake
from calve.settings import Settings
from calve.spark.session import join

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.rest import RestServer
    from support.s3 import S3Server


def assert_shared(spark: SparkSession, lake: Lake, catalog: str) -> None:
    """A table of each writer, read and written by the other."""
    pyiceberg = lake.catalog(catalog)
    pyiceberg.create_namespace("shared")
    made = pyiceberg.create_table(
        "shared.by_python", schema=pa.schema([("id", pa.int64()), ("name", pa.string())])
    )
    made.append(pa.table({"id": [1, 2], "name": ["a", "b"]}))
    spark.sql(f"INSERT INTO {catalog}.shared.by_python VALUES (3, 'c')")
    spark.sql(
        f"CREATE TABLE {catalog}.shared.by_spark USING iceberg AS SELECT * FROM {catalog}.shared.by_python"
    )
    pyiceberg.load_table("shared.by_spark").append(pa.table({"id": [4], "name": ["d"]}))

    rows = [(1, "a"), (2, "b"), (3, "c")]
    assert python_rows(lake, catalog, "by_python") == rows
    assert spark_rows(spark, f"{catalog}.shared.by_python") == rows
    assert python_rows(lake, catalog, "by_spark") == [*rows, (4, "d")]
    assert spark_rows(spark, f"{catalog}.shared.by_spark") == [*rows, (4, "d")]


def python_rows(lake: Lake, catalog: str, table: str) -> list[tuple[int, str]]:
    found = lake.catalog(catalog).load_table(f"shared.{table}").scan().to_arrow()
    return sorted(zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True))


def spark_rows(spark: SparkSession, table: str) -> list[tuple[int, str]]:
    return sorted((row.id, row.name) for row in spark.table(table).collect())


def joined(spark: SparkSession, home: Path, name: str, properties: dict[str, str]) -> Lake:
    settings = Settings(home=home, catalogs={name: properties})
    join(spark, settings)
    return Lake(settings)


def test_embedded_lake_is_shared(spark: SparkSession, lake: Lake) -> None:
    assert_shared(spark, lake, "lake")


def test_sql_catalog_on_postgres_is_shared(spark: SparkSession, postgres_url: str, tmp_path: Path) -> None:
    lake = joined(
        spark, tmp_path, "pg", {"type": "sql", "uri": postgres_url, "warehouse": f"file://{tmp_path}/wh"}
    )
    assert_shared(spark, lake, "pg")


def test_rest_catalog_is_shared(spark: SparkSession, rest_server: RestServer, tmp_path: Path) -> None:
    lake = joined(spark, tmp_path, "rest", {"type": "rest", "uri": rest_server.uri})
    assert_shared(spark, lake, "rest")


def test_warehouse_on_s3_is_shared(spark: SparkSession, s3_server: S3Server, tmp_path: Path) -> None:
    bucket = s3_server.create_bucket("shared")
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/s3.db", "warehouse": f"{bucket}/wh"}
    lake = joined(spark, tmp_path, "s3lake", properties | s3_server.properties)
    assert_shared(spark, lake, "s3lake")
    assert any(key.endswith(".parquet") for key in s3_server.keys("shared"))
