"""The data of the playback pipeline, and the means to compare and to measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks.playback.metering import Meter

from calve.demo.comparison import compare
from calve.demo.playback_source import PlaybackSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = ["event_day", "event_id", "event_ts", "ingest_ts", "payload"]


@pytest.fixture(scope="module")
def source(spark: SparkSession) -> PlaybackSource:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.demo_source")
    source = PlaybackSource("lake.demo_source.playback", 4_000)
    spark.sql(f"DROP TABLE IF EXISTS {source.table}")
    source.create(spark)
    for day in range(6):
        source.arrive(spark, day)
    return source


def test_some_events_are_late_and_some_come_twice(spark: SparkSession, source: PlaybackSource) -> None:
    rows, late, events, days = spark.sql(
        "SELECT count(*), count_if(unix_date(event_day) < unix_micros(ingest_ts) DIV 86400000000), "
        f"count(DISTINCT event_id), count(DISTINCT event_day) FROM {source.table}"
    ).collect()[0]
    assert rows == 24_000
    assert 0.015 < late / rows < 0.035
    assert 0.985 < events / rows < 0.995
    assert days == 6


def test_an_event_that_comes_twice_is_the_same_event_and_comes_later(
    spark: SparkSession, source: PlaybackSource
) -> None:
    different, at_once = spark.sql(
        "SELECT count_if(versions > 1), count_if(moments < copies) FROM (SELECT count(*) AS copies, "
        "count(DISTINCT event_day, event_ts, payload) AS versions, count(DISTINCT ingest_ts) AS moments "
        f"FROM {source.table} GROUP BY event_id)"
    ).collect()[0]
    assert (different, at_once) == (0, 0)


def test_tables_are_compared_by_how_often_rows_come(spark: SparkSession, source: PlaybackSource) -> None:
    copy = "lake.demo_source.copied"
    spark.sql(f"CREATE OR REPLACE TABLE {copy} USING iceberg AS SELECT * FROM {source.table}")
    assert compare(spark, source.table, copy, _COLUMNS, "event_day", "TRUE").is_equal
    day = source.day(2)
    spark.sql(f"INSERT INTO {copy} SELECT * FROM {copy} WHERE event_day = DATE '{day}' LIMIT 1")
    found = compare(spark, source.table, copy, _COLUMNS, "event_day", "TRUE")
    assert found.different == (str(day),)
    assert found.right_rows == found.left_rows + 1


def test_a_statement_has_its_cost(spark: SparkSession, source: PlaybackSource) -> None:
    meter = Meter(spark)
    query = f"SELECT sum(hash(payload)) FROM {source.table} WHERE event_day >= DATE '{source.day(4)}'"
    first, both = meter.run(query), meter.run(query, query)
    assert first.task_cpu_seconds > 0
    assert first.wall_seconds > 0
    assert 0 < first.rows_read < 24_000
    assert first.files_read > 0
    assert first.file_bytes_read > 0
    assert both.rows_read == 2 * first.rows_read
    assert both.files_read == 2 * first.files_read
