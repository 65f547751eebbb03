"""The one Spark session of a test run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from calve.settings import Settings
from calve.spark.conf import AWS_BUNDLE, POSTGRES_DRIVER, spark_conf
from calve.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_spark(settings: Settings) -> SparkSession:
    """A small Spark with the packages of every catalog and store under test."""
    packages = [spark_conf(settings)["spark.jars.packages"], AWS_BUNDLE, POSTGRES_DRIVER]
    return session(
        settings,
        **{
            "spark.jars.packages": ",".join(packages),
            "spark.master": "local[2]",
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.sql.session.timeZone": "UTC",
            # Iceberg 1.12 fails on min(_row_id) when it answers aggregates from metadata.
            "spark.sql.iceberg.aggregate-push-down.enabled": "false",
        },
    )


@contextmanager
def session_conf(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Settings of the shared session for a while, so that no test sees another's."""
    before = {key: spark.conf.get(key, None) for key in conf}
    for key, value in conf.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)
