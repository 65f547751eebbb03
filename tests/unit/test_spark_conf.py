"""PyIceberg's catalog properties in Spark's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calve.cli.spark_conf import as_args, as_properties, as_python
from calve.errors import UsageError
from calve.settings import Settings
from calve.spark.conf import AWS_BUNDLE, POSTGRES_DRIVER, RUNTIME, SQLITE_DRIVER, catalog_conf, spark_conf


def test_the_embedded_lake_is_the_same_database_by_jdbc(home: Path) -> None:
    conf = spark_conf(Settings(home=home))
    prefix = "spark.sql.catalog.lake"
    assert conf[prefix] == "org.apache.iceberg.spark.SparkCatalog"
    assert conf[f"{prefix}.type"] == "jdbc"
    assert conf[f"{prefix}.uri"] == f"jdbc:sqlite:{home}/catalog.db"
    assert conf[f"{prefix}.jdbc.schema-version"] == "V1"
    assert conf[f"{prefix}.warehouse"] == f"file://{home}/warehouse"
    assert conf[f"{prefix}.cache-enabled"] == "false"
    assert conf["spark.sql.defaultCatalog"] == "lake"
    assert conf["spark.jars.packages"] == f"{RUNTIME},{SQLITE_DRIVER}"


def test_postgres_keeps_host_login_and_options() -> None:
    conf = catalog_conf(
        "a", {"type": "sql", "uri": "postgresql+psycopg://me:p%40ss@db:5433/cat?sslmode=require"}
    )
    assert conf.properties["uri"] == "jdbc:postgresql://db:5433/cat?sslmode=require"
    assert (conf.properties["jdbc.user"], conf.properties["jdbc.password"]) == ("me", "p@ss")
    assert conf.packages == (POSTGRES_DRIVER,)


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({"uri": "http://rest"}, "rest"),
        ({"type": "rest", "uri": "http://rest", "credential": "c"}, "rest"),
        ({"uri": "thrift://hive:9083"}, "hive"),
    ],
)
def test_rest_and_hive_need_no_further_package(properties: dict[str, str], kind: str) -> None:
    conf = catalog_conf("a", properties)
    assert conf.properties == {**properties, "type": kind, "cache-enabled": "false"}
    assert conf.packages == ()


def test_glue_brings_the_aws_client() -> None:
    conf = catalog_conf("a", {"type": "glue", "glue.region": "eu-west-1", "py-io-impl": "x"})
    assert conf.properties == {"type": "glue", "client.region": "eu-west-1", "cache-enabled": "false"}
    assert conf.packages == (AWS_BUNDLE,)


@pytest.mark.parametrize(("virtual", "path_style"), [(None, "true"), ("true", "false")])
def test_s3_is_addressed_as_pyiceberg_does(virtual: str | None, path_style: str) -> None:
    properties = {"uri": "http://rest", "warehouse": "s3://b/w", "s3.endpoint": "http://s3", "s3.region": "r"}
    if virtual is not None:
        properties["s3.force-virtual-addressing"] = virtual
    conf = catalog_conf("a", properties)
    assert conf.properties["io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert conf.properties["client.region"] == "r"
    assert conf.properties["s3.path-style-access"] == path_style
    assert conf.packages == (AWS_BUNDLE,)


@pytest.mark.parametrize("properties", [{"type": "in-memory"}, {"type": "sql", "uri": "mysql://x/y"}])
def test_a_catalog_that_spark_cannot_share_is_refused(properties: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        catalog_conf("a", properties)
    assert caught.value.code == "CATALOG_NOT_FOR_SPARK"


def test_packages_are_named_once_and_the_users_settings_win(home: Path) -> None:
    s3 = {"type": "rest", "uri": "http://rest", "warehouse": "s3://b"}
    spark: Any = {"packages": ("g:a:1",), "conf": {"spark.sql.catalog.a.cache-enabled": "true"}}
    conf = spark_conf(Settings(home=home, catalogs={"a": s3, "b": s3}, spark=spark))
    assert conf["spark.jars.packages"] == f"{RUNTIME},{AWS_BUNDLE},g:a:1"
    assert conf["spark.sql.catalog.a.cache-enabled"] == "true"
    assert "spark.sql.defaultCatalog" not in conf


def test_formats_keep_odd_values_whole() -> None:
    conf = {"a.b": "x y'z\\w"}
    assert as_properties(conf) == "a.b x y'z\\\\w"
    assert as_args(conf) == "--conf 'a.b=x y'\"'\"'z\\w'"
    assert ".config('a.b', \"x y'z\\\\w\")" in as_python(conf)
